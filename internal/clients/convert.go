// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"context"
	"fmt"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/component-operator/runtime/internal/manifest"
	"github.com/component-operator/runtime/pkg/behaviors"
	"github.com/component-operator/runtime/pkg/types"
)

// ToUnstructured returns the object in unstructured form; typed objects get their type from the scheme. The result may
// share content with the object. It has no behaviors.
func ToUnstructured(object client.Object, scheme *runtime.Scheme) (*unstructured.Unstructured, error) {
	object = behaviors.Bare(object)
	if value := reflect.ValueOf(object); !value.IsValid() || value.Kind() == reflect.Pointer && value.IsNil() {
		return nil, fmt.Errorf("an object of type %T is nil", object)
	}
	if u, ok := object.(*unstructured.Unstructured); ok {
		if u.GetKind() == "" || u.GetAPIVersion() == "" {
			return nil, fmt.Errorf("object %q: apiVersion and kind are required, got %q and %q", u.GetName(), u.GetAPIVersion(), u.GetKind())
		}
		return u, nil
	}
	gvk, err := apiutil.GVKForObject(object, scheme)
	if err != nil {
		return nil, fmt.Errorf("object %q of type %T: the type is not known to the scheme; "+
			"pass the AddToScheme function of its package as the option SchemeBuilder, or have the generator implement types.SchemeBuilder", object.GetName(), object)
	}
	if declared := object.GetObjectKind().GroupVersionKind(); !declared.Empty() && declared != gvk {
		return nil, fmt.Errorf("object %q: apiVersion and kind say %s, but its Go type %T is %s", object.GetName(), declared, object, gvk)
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil, fmt.Errorf("object %q of type %T: %w", object.GetName(), object, err)
	}
	u := &unstructured.Unstructured{Object: content}
	u.SetGroupVersionKind(gvk)
	return u, nil
}

// Normalize converts the values of unstructured objects to those of decoded JSON: generators may return others, such as
// an int, and copying such an object would panic. It changes objects with such values in place. An error names object
// and value.
func Normalize(objects []client.Object) error {
	for _, object := range objects {
		u, ok := behaviors.Bare(object).(*unstructured.Unstructured)
		if !ok || u == nil || manifest.IsNormal(u.Object) {
			continue
		}
		content, err := manifest.Normalize(u.Object)
		if err != nil {
			return fmt.Errorf("%s: %w", types.IDOf(u), err)
		}
		u.Object = content
	}
	return nil
}

// EachListed lists objects in pages of the given size into copies of an empty list, and calls a function for each.
func EachListed[O runtime.Object](
	ctx context.Context, reader client.Reader, empty client.ObjectList, pageSize int64, use func(object O), options ...client.ListOption,
) error {
	for next := ""; ; {
		// Each page has a list of its own, because decoding into a non-empty list keeps old content.
		page, _ := empty.DeepCopyObject().(client.ObjectList)
		if err := reader.List(ctx, page, append(slices.Clone(options), client.Limit(pageSize), client.Continue(next))...); err != nil {
			return err
		}
		err := meta.EachListItem(page, func(item runtime.Object) error {
			if object, ok := item.(O); ok {
				use(object)
			}
			return nil
		})
		if next = page.GetContinue(); err != nil || next == "" {
			return err
		}
	}
}

// MetadataOf returns an empty list for the metadata of objects of a type.
func MetadataOf(kind schema.GroupVersionKind) client.ObjectList {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	return list
}
