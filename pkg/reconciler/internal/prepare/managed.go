// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package prepare

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/types"
)

const Wildcard = "*"

// MatchesKind reports whether a type matches the pattern.
func MatchesKind(t inventory.TypeInfo, kind schema.GroupKind) bool {
	return MatchesGroup(t.Group, kind.Group) && (t.Kind == Wildcard || t.Kind == kind.Kind)
}

// Matches reports whether a type in a version matches the pattern.
func Matches(t inventory.TypeVersionInfo, gvk schema.GroupVersionKind) bool {
	return MatchesKind(inventory.TypeInfo{Group: t.Group, Kind: t.Kind}, gvk.GroupKind()) && (t.Version == Wildcard || t.Version == gvk.Version)
}

// MatchesGroup supports "*" and "*.<suffix>"; an asterisk anywhere else matches nothing.
func MatchesGroup(pattern, group string) bool {
	if pattern == Wildcard {
		return true
	}
	if suffix, ok := strings.CutPrefix(pattern, Wildcard); ok && strings.HasPrefix(suffix, ".") {
		return !strings.Contains(suffix, Wildcard) && len(group) > len(suffix) && strings.HasSuffix(group, suffix)
	}
	return pattern == group
}

// CheckPatterns returns what is wrong with patterns of types: which ones cannot match any type. Each problem begins
// with the index of the pattern.
func CheckPatterns(patterns []inventory.TypeInfo) []string {
	var problems []string
	for i, pattern := range patterns {
		suffix, _ := strings.CutPrefix(pattern.Group, Wildcard+".")
		if pattern.Group != "" && pattern.Group != Wildcard && len(validation.IsDNS1123Subdomain(suffix)) > 0 {
			problems = append(problems, fmt.Sprintf(
				"[%d].group: invalid value %q; must be the name of a group, empty for the core group, *, or *. followed by the end of a name, as in *.example.com", i, pattern.Group))
		}
		if pattern.Kind != Wildcard && len(validation.IsDNS1035Label(strings.ToLower(pattern.Kind))) > 0 {
			problems = append(problems, fmt.Sprintf("[%d].kind: invalid value %q; must be the name of a kind, or *", i, pattern.Kind))
		}
	}
	return problems
}

// ManagedTypesOf returns the types that an object defines.
func ManagedTypesOf(object *unstructured.Unstructured) []inventory.TypeVersionInfo {
	switch kind := object.GroupVersionKind().GroupKind(); {
	case IsCRD(kind):
		group, _, _ := unstructured.NestedString(object.Object, "spec", "group")
		name, _, _ := unstructured.NestedString(object.Object, "spec", "names", "kind")
		return []inventory.TypeVersionInfo{{Group: group, Version: Wildcard, Kind: name}}
	case IsAPIService(kind):
		group, _, _ := unstructured.NestedString(object.Object, "spec", "group")
		version, _, _ := unstructured.NestedString(object.Object, "spec", "version")
		return []inventory.TypeVersionInfo{{Group: group, Version: version, Kind: Wildcard}}
	default:
		return nil
	}
}

// TypeSet finds the items or patterns that define a type.
type TypeSet struct {
	Items      map[types.ObjectID][]inventory.TypeVersionInfo
	additional []inventory.TypeInfo
	found      map[schema.GroupVersionKind][]types.ObjectID // results of Definitions; Items must not change after its first call
}

// NewTypeSet returns the types that items define, and others.
func NewTypeSet(additional []inventory.TypeInfo, items ...*inventory.Item) TypeSet {
	set := TypeSet{Items: map[types.ObjectID][]inventory.TypeVersionInfo{}, additional: additional, found: map[schema.GroupVersionKind][]types.ObjectID{}}
	for _, item := range items {
		if len(item.ManagedTypes) > 0 {
			set.Items[types.IDOf(item)] = item.ManagedTypes
		}
	}
	return set
}

// Instance reports whether objects of the type are instances of a managed type.
func (s TypeSet) Instance(gvk schema.GroupVersionKind) bool {
	for _, pattern := range s.additional {
		if MatchesKind(pattern, gvk.GroupKind()) {
			return true
		}
	}
	return len(s.Definitions(gvk)) > 0
}

// Definitions returns the objects that define the type.
func (s TypeSet) Definitions(gvk schema.GroupVersionKind) []types.ObjectID {
	if keys, ok := s.found[gvk]; ok {
		return keys
	}
	var keys []types.ObjectID
	for key, patterns := range s.Items {
		for _, pattern := range patterns {
			if Matches(pattern, gvk) {
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
