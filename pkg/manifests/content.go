// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/generating"
	"github.com/component-operator/runtime/internal/manifest"
	"github.com/component-operator/runtime/pkg/behaviors"
	"github.com/component-operator/runtime/pkg/types"
)

// checkObjects refuses objects that transformers cannot handle: nil objects, and labels or annotations that are no
// strings, which a transformer would not see and then overwrite.
func checkObjects(objects []client.Object) error {
	for i, object := range objects {
		if manifest.IsNil(behaviors.Bare(object)) {
			return fmt.Errorf("object %d is nil (%T)", i+1, object)
		}
		u, ok := behaviors.Bare(object).(*unstructured.Unstructured)
		if !ok {
			continue
		}
		for _, field := range []string{"labels", "annotations"} {
			if value, _, _ := unstructured.NestedFieldNoCopy(u.Object, "metadata", field); value == nil {
				continue
			}
			if _, _, err := unstructured.NestedStringMap(u.Object, "metadata", field); err != nil {
				return fmt.Errorf("%s: metadata.%s: all values must be strings: %w", textOf(object), field, err)
			}
		}
	}
	return nil
}

// copyOf returns a copy of the same Go type.
func copyOf(object client.Object) (client.Object, error) {
	copied, ok := object.DeepCopyObject().(client.Object)
	if !ok {
		return nil, fmt.Errorf("copying object %q: the copy of a %T is not an object", object.GetName(), object)
	}
	return copied, nil
}

// kindOf returns the type of an object. Typed objects often do not carry it; then the scheme of client-go or, for other
// types, that of the target client has it. Reading the target client's scheme does not count as reading the cluster.
func kindOf(ctx context.Context, object client.Object) (schema.GroupVersionKind, error) {
	object = behaviors.Bare(object)
	declared := object.GetObjectKind().GroupVersionKind()
	if declared.Version != "" && declared.Kind != "" {
		return declared, nil
	}
	if _, ok := object.(runtime.Unstructured); ok {
		return declared, fmt.Errorf("object %q: apiVersion and kind are required, got %q and %q", object.GetName(), declared.GroupVersion(), declared.Kind)
	}
	schemes := []*runtime.Scheme{clientgoscheme.Scheme}
	if clnt, err := generating.Client.From(ctx); err == nil {
		schemes = append(schemes, clnt.Scheme())
	}
	for _, scheme := range schemes {
		if kinds, _, err := scheme.ObjectKinds(object); err == nil && len(kinds) > 0 {
			return kinds[0], nil
		}
	}
	return declared, fmt.Errorf("object %q: the scheme does not know the type %T; set apiVersion and kind", object.GetName(), object)
}

// unstructuredOf returns the object in a form that has no Go type, as a copy.
func unstructuredOf(ctx context.Context, object client.Object) (*unstructured.Unstructured, error) {
	object = behaviors.Bare(object)
	if u, ok := object.(*unstructured.Unstructured); ok {
		return u.DeepCopy(), nil
	}
	kind, err := kindOf(ctx, object)
	if err != nil {
		return nil, err
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil, fmt.Errorf("converting object %q of type %T: %w", object.GetName(), object, err)
	}
	u := &unstructured.Unstructured{Object: content}
	u.SetGroupVersionKind(kind)
	// Go types have fields that no manifest declares.
	unstructured.RemoveNestedField(content, "status")
	unstructured.RemoveNestedField(content, "metadata", "creationTimestamp")
	return u, nil
}

// textOf names an object in messages.
func textOf(object client.Object) string {
	kind := object.GetObjectKind().GroupVersionKind().GroupKind()
	if kind.Kind == "" {
		kind.Kind = fmt.Sprintf("%T", behaviors.Bare(object))
	}
	return types.ObjectText(kind, object.GetNamespace(), object.GetName())
}
