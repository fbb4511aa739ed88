// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const wildcard = "*"

// matches tells whether a type fits the pattern.
func (t TypeInfo) matches(kind schema.GroupKind) bool {
	return matchesGroup(t.Group, kind.Group) && (t.Kind == wildcard || t.Kind == kind.Kind)
}

// matches tells whether a type in a version fits the pattern.
func (t TypeVersionInfo) matches(gvk schema.GroupVersionKind) bool {
	return TypeInfo{Group: t.Group, Kind: t.Kind}.matches(gvk.GroupKind()) && (t.Version == wildcard || t.Version == gvk.Version)
}

// matchesGroup knows "*" and "*.<suffix>"; an asterisk anywhere else matches nothing.
func matchesGroup(pattern, group string) bool {
	if pattern == wildcard {
		return true
	}
	if suffix, ok := strings.CutPrefix(pattern, wildcard); ok && strings.HasPrefix(suffix, ".") {
		return !strings.Contains(suffix, wildcard) && len(group) > len(suffix) && strings.HasSuffix(group, suffix)
	}
	return pattern == group
}

// managedTypesOf returns the types that an object brings into the cluster.
func managedTypesOf(object *unstructured.Unstructured) []TypeVersionInfo {
	switch kind := object.GroupVersionKind().GroupKind(); {
	case isCRD(kind):
		group, _, _ := unstructured.NestedString(object.Object, "spec", "group")
		name, _, _ := unstructured.NestedString(object.Object, "spec", "names", "kind")
		return []TypeVersionInfo{{Group: group, Version: wildcard, Kind: name}}
	case isAPIService(kind):
		group, _, _ := unstructured.NestedString(object.Object, "spec", "group")
		version, _, _ := unstructured.NestedString(object.Object, "spec", "version")
		return []TypeVersionInfo{{Group: group, Version: version, Kind: wildcard}}
	default:
		return nil
	}
}

// typeSet answers which item or pattern is responsible for a type.
type typeSet struct {
	items      map[objectKey][]TypeVersionInfo
	additional []TypeInfo
	found      map[schema.GroupVersionKind][]objectKey // what definitions returned; items must not change after its first call
}

func newTypeSet(additional []TypeInfo) typeSet {
	return typeSet{items: map[objectKey][]TypeVersionInfo{}, additional: additional, found: map[schema.GroupVersionKind][]objectKey{}}
}

// instance tells whether objects of the type are instances of a managed type.
func (s typeSet) instance(gvk schema.GroupVersionKind) bool {
	for _, pattern := range s.additional {
		if pattern.matches(gvk.GroupKind()) {
			return true
		}
	}
	return len(s.definitions(gvk)) > 0
}

// definitions returns the objects that bring the type into the cluster.
func (s typeSet) definitions(gvk schema.GroupVersionKind) []objectKey {
	if keys, ok := s.found[gvk]; ok {
		return keys
	}
	var keys []objectKey
	for key, patterns := range s.items {
		for _, pattern := range patterns {
			if pattern.matches(gvk) {
				keys = append(keys, key)
				break
			}
		}
	}
	if s.found != nil {
		s.found[gvk] = keys
	}
	return keys
}
