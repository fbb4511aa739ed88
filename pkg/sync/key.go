// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package sync

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/component-operator/runtime/pkg/types"
)

// A ResourceKey identifies an object in a cluster, in any version.
type ResourceKey struct {
	Group, Kind string
	// Namespace is empty for cluster-scoped objects.
	Namespace string
	Name      string
}

// NewResourceKey returns the key of an object.
func NewResourceKey(group, kind, namespace, name string) ResourceKey {
	return ResourceKey{Group: group, Kind: kind, Namespace: namespace, Name: name}
}

// GetResourceKey returns the key of an object as it is: if it names no namespace, the key has none.
func GetResourceKey(object *unstructured.Unstructured) ResourceKey { return keyOf(types.IDOf(object)) }

func keyOf(id types.ObjectID) ResourceKey {
	return ResourceKey{Group: id.Group, Kind: id.Kind, Namespace: id.Namespace, Name: id.Name}
}

// GroupKind returns the type of the object.
func (k ResourceKey) GroupKind() schema.GroupKind {
	return schema.GroupKind{Group: k.Group, Kind: k.Kind}
}

// String returns the fields, separated by slashes.
func (k ResourceKey) String() string {
	return strings.Join([]string{k.Group, k.Kind, k.Namespace, k.Name}, "/")
}

func (k ResourceKey) id() types.ObjectID {
	return types.ObjectID{GroupKind: k.GroupKind(), Namespace: k.Namespace, Name: k.Name}
}

// A ResourceInfoProvider knows the types of a cluster.
type ResourceInfoProvider interface {
	// IsNamespaced reports whether objects of a type are in namespaces. The error says why that is not known.
	IsNamespaced(kind schema.GroupKind) (bool, error)
}

// NewResourceInfoProvider returns a provider that asks a mapper.
func NewResourceInfoProvider(mapper meta.RESTMapper) ResourceInfoProvider {
	return mapped{mapper: mapper}
}

type mapped struct{ mapper meta.RESTMapper }

// IsNamespaced reports what the mapper says.
func (m mapped) IsNamespaced(kind schema.GroupKind) (bool, error) {
	mapping, err := m.mapper.RESTMapping(kind)
	if err != nil {
		return false, err
	}
	return mapping.Scope.Name() == meta.RESTScopeNameNamespace, nil
}

// declaredTypes knows the types of a cluster, and those that are declared. It asks for each type once.
type declaredTypes struct {
	cluster  ResourceInfoProvider
	declared map[schema.GroupKind]bool
	known    map[schema.GroupKind]scope
}

type scope struct {
	isNamespaced bool
	err          error
}

func newTypes(mapper meta.RESTMapper, objects ReconciliationResult) *declaredTypes {
	d := &declaredTypes{cluster: NewResourceInfoProvider(mapper), declared: map[schema.GroupKind]bool{}, known: map[schema.GroupKind]scope{}}
	for _, object := range slices.Concat(objects.Target, objects.Hooks) {
		if object == nil || object.GroupVersionKind().GroupKind() != definitions {
			continue
		}
		group, _, _ := unstructured.NestedString(object.Object, "spec", "group")
		kind, _, _ := unstructured.NestedString(object.Object, "spec", "names", "kind")
		place, _, _ := unstructured.NestedString(object.Object, "spec", "scope")
		d.declared[schema.GroupKind{Group: group, Kind: kind}] = place == "Namespaced"
	}
	return d
}

// definitions is the type of definitions of types.
var definitions = schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}

// IsNamespaced reports what the cluster says, or if it does not know, the declared definition.
func (d *declaredTypes) IsNamespaced(kind schema.GroupKind) (bool, error) {
	found, isKnown := d.known[kind]
	if !isKnown {
		found.isNamespaced, found.err = d.cluster.IsNamespaced(kind)
		if isNamespaced, isDeclared := d.declared[kind]; isDeclared && found.err != nil {
			found = scope{isNamespaced: isNamespaced}
		}
		d.known[kind] = found
	}
	return found.isNamespaced, found.err
}
