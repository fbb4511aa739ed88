// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"cmp"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/cluster"
	"github.com/component-operator/runtime/pkg/types"
)

// Key identifies an object, whatever the version it is accessed by.
type Key struct {
	schema.GroupKind
	namespace, name string
}

// KeyOf returns the key of an object.
func KeyOf(object types.ObjectKey) Key {
	return Key{GroupKind: object.GetObjectKind().GroupVersionKind().GroupKind(), namespace: object.GetNamespace(), name: object.GetName()}
}

// String names the object as messages do.
func (k Key) String() string { return types.ObjectText(k.GroupKind, k.namespace, k.name) }

// Text names an object as messages do.
func Text(object types.ObjectKey) string { return KeyOf(object).String() }

// CountText says how many objects there are.
func CountText(count int) string {
	if count == 1 {
		return "1 object"
	}
	return fmt.Sprintf("%d objects", count)
}

// IsJob reports whether an object is a Job, which may remove itself after it has finished.
func IsJob(object types.ObjectKey) bool {
	return KeyOf(object).GroupKind == schema.GroupKind{Group: "batch", Kind: "Job"}
}

// Namespace returns the namespace in which an object is applied with a release of the given namespace; empty if its type has no namespaces.
func Namespace(mapper meta.RESTMapper, object client.Object, namespace string) (string, error) {
	gvk := object.GetObjectKind().GroupVersionKind()
	mapping, err := mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	switch {
	case cluster.IsNoMatch(err):
		// It was never applied: then it is not known yet whether its type has namespaces.
		return object.GetNamespace(), nil
	case err != nil:
		return "", fmt.Errorf("finding type %s: %w", gvk.GroupKind(), err)
	case mapping.Scope.Name() != meta.RESTScopeNameNamespace:
		return "", nil
	default:
		return cmp.Or(object.GetNamespace(), namespace), nil
	}
}

// Keys returns the keys of objects that are applied with a release of the given namespace.
func Keys(mapper meta.RESTMapper, list []client.Object, namespace string) (map[Key]bool, error) {
	keys := make(map[Key]bool, len(list))
	for _, object := range list {
		placed, err := Namespace(mapper, object, namespace)
		if err != nil {
			return nil, err
		}
		keys[Key{GroupKind: object.GetObjectKind().GroupVersionKind().GroupKind(), namespace: placed, name: object.GetName()}] = true
	}
	return keys, nil
}

// EachResource visits all resources that were discovered, and that are no subresources.
func EachResource(lists []*metav1.APIResourceList, visit func(gv schema.GroupVersion, resource metav1.APIResource)) {
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			continue
		}
		for _, resource := range list.APIResources {
			if !strings.Contains(resource.Name, "/") {
				visit(schema.GroupVersion{Group: cmp.Or(resource.Group, gv.Group), Version: cmp.Or(resource.Version, gv.Version)}, resource)
			}
		}
	}
}
