// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package judges

import (
	"context"
	"fmt"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Definitions knows of which types the definitions declare status.conditions. It is safe for concurrent use.
type Definitions struct {
	client client.Reader

	mu       sync.Mutex
	declared map[schema.GroupVersionKind]bool // by the types that are known
}

// NewDefinitions returns Definitions that are read through a client, which must not answer from a cache.
func NewDefinitions(reader client.Reader) *Definitions {
	return &Definitions{client: reader, declared: map[schema.GroupVersionKind]bool{}}
}

// Learn reads the definition of a type, which is served under the given resource name, unless the type is one of
// Kubernetes itself. Types without a definition, and those whose definition the client may not read, are known to
// declare nothing.
func (d *Definitions) Learn(ctx context.Context, gvk schema.GroupVersionKind, resource string) error {
	if isBuiltIn(gvk.Group) {
		return nil
	}
	definition := &unstructured.Unstructured{}
	definition.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
	err := d.client.Get(ctx, client.ObjectKey{Name: resource + "." + gvk.Group}, definition)
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsForbidden(err) {
		return fmt.Errorf("reading the definition of %s: %w", gvk.GroupKind(), err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.declared[gvk] = err == nil && declaresConditions(definition, gvk.Version)
	return nil
}

// isBuiltIn reports whether the types of a group are those of Kubernetes itself.
func isBuiltIn(group string) bool {
	return group == "apiextensions.k8s.io" || group == "apiregistration.k8s.io" || scheme.Scheme.IsGroupRegistered(group)
}

// Recall is Learn for a type that need not be read again if it is known.
func (d *Definitions) Recall(ctx context.Context, gvk schema.GroupVersionKind, resource string) error {
	if _, known := d.Declares(gvk); known {
		return nil
	}
	return d.Learn(ctx, gvk, resource)
}

// Declares reports whether the definition of a type declares status.conditions, and whether that is known. It makes no
// request. Types of Kubernetes itself have no definition.
func (d *Definitions) Declares(gvk schema.GroupVersionKind) (declared, known bool) {
	if isBuiltIn(gvk.Group) {
		return false, true
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	declared, known = d.declared[gvk]
	return declared, known
}

// declaresConditions reports whether a version of a CustomResourceDefinition has status.conditions.
func declaresConditions(definition *unstructured.Unstructured, name string) bool {
	versions, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions")
	for _, value := range versions {
		version, _ := value.(map[string]any)
		if version["name"] != name {
			continue
		}
		_, found, _ := unstructured.NestedMap(version, "schema", "openAPIV3Schema", "properties", "status", "properties", "conditions")
		return found
	}
	return false
}
