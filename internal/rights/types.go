// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package rights

import (
	"errors"
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// typesOf knows the types of Kubernetes, and those that the objects define.
type typesOf struct {
	known   map[schema.GroupKind]Resource
	resolve func(kind schema.GroupKind) (Resource, error)
}

func newTypesOf(request Request) (*typesOf, error) {
	kinds, err := Kinds(nil)
	if err != nil {
		return nil, err
	}
	t := &typesOf{known: map[schema.GroupKind]Resource{}, resolve: request.Resolve}
	_, mapper := Resources(kinds)
	for _, kind := range kinds {
		mapping, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
		if err != nil {
			return nil, err
		}
		t.known[kind.GroupKind()] = ResourceOf(mapping)
	}
	for _, object := range request.Objects {
		if object.GroupVersionKind().GroupKind() != (schema.GroupKind{Group: apiextensionsv1.GroupName, Kind: "CustomResourceDefinition"}) {
			continue
		}
		resource, err := definedBy(object)
		if err != nil {
			return nil, err
		}
		kind, _, _ := unstructured.NestedString(object.Object, "spec", "names", "kind")
		t.known[schema.GroupKind{Group: resource.Group, Kind: kind}] = resource
	}
	return t, nil
}

// definedBy returns the type that a CustomResourceDefinition defines.
func definedBy(definition *unstructured.Unstructured) (Resource, error) {
	group, _, _ := unstructured.NestedString(definition.Object, "spec", "group")
	plural, _, _ := unstructured.NestedString(definition.Object, "spec", "names", "plural")
	scope, _, _ := unstructured.NestedString(definition.Object, "spec", "scope")
	if group == "" || plural == "" {
		return Resource{}, fmt.Errorf("CustomResourceDefinition %s: spec.group and spec.names.plural are required", definition.GetName())
	}
	return Resource{
		GroupResource: schema.GroupResource{Group: group, Resource: plural}, Namespaced: scope == string(apiextensionsv1.NamespaceScoped),
	}, nil
}

func (t *typesOf) find(kind schema.GroupKind) (Resource, error) {
	if resource, found := t.known[kind]; found {
		return resource, nil
	}
	if t.resolve == nil {
		return Resource{}, errors.New("its type is not one of Kubernetes, and none that the objects define")
	}
	return t.resolve(kind)
}

// ResourceOf is what a mapping says of a type.
func ResourceOf(mapping *meta.RESTMapping) Resource {
	return Resource{GroupResource: mapping.Resource.GroupResource(), Namespaced: mapping.Scope.Name() == meta.RESTScopeNameNamespace}
}
