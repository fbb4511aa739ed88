// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package prepare

import (
	"cmp"
	"fmt"
	"slices"
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

// CheckManagedTypes refuses patterns of additional managed types that match no type: they would protect nothing.
func CheckManagedTypes(patterns []inventory.TypeInfo) error {
	var problems []string
	for i, pattern := range patterns {
		suffix, _ := strings.CutPrefix(pattern.Group, Wildcard+".")
		if pattern.Group != "" && pattern.Group != Wildcard && len(validation.IsDNS1123Subdomain(suffix)) > 0 {
			problems = append(problems, fmt.Sprintf("additionalManagedTypes[%d].group: invalid value %q; "+
				"must be the name of a group, empty for the core group, *, or *. followed by the end of a name, as in *.example.com", i, pattern.Group))
		}
		if pattern.Kind != Wildcard && len(validation.IsDNS1035Label(strings.ToLower(pattern.Kind))) > 0 {
			problems = append(problems, fmt.Sprintf("additionalManagedTypes[%d].kind: invalid value %q; must be the name of a kind, or *", i, pattern.Kind))
		}
	}
	if len(problems) > 0 {
		return inventory.NewRefusedError(problems...)
	}
	return nil
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
	isAdditional := slices.ContainsFunc(s.additional, func(pattern inventory.TypeInfo) bool { return MatchesKind(pattern, gvk.GroupKind()) })
	return isAdditional || len(s.Definitions(gvk)) > 0
}

// Definitions returns the objects that define the type.
func (s TypeSet) Definitions(gvk schema.GroupVersionKind) []types.ObjectID {
	if keys, ok := s.found[gvk]; ok {
		return keys
	}
	var keys []types.ObjectID
	for key, patterns := range s.Items {
		if slices.ContainsFunc(patterns, func(pattern inventory.TypeVersionInfo) bool { return Matches(pattern, gvk) }) {
			keys = append(keys, key)
		}
	}
	if s.found != nil {
		s.found[gvk] = keys
	}
	return keys
}

const (
	GroupCRD        = "apiextensions.k8s.io"
	GroupAPIService = "apiregistration.k8s.io"
	GroupRBAC       = "rbac.authorization.k8s.io"
	GroupWebhook    = "admissionregistration.k8s.io"
)

// IsCRD reports whether objects of the kind are CustomResourceDefinitions.
func IsCRD(kind schema.GroupKind) bool {
	return kind == schema.GroupKind{Group: GroupCRD, Kind: "CustomResourceDefinition"}
}

// IsAPIService reports whether objects of the kind are APIServices.
func IsAPIService(kind schema.GroupKind) bool {
	return kind == schema.GroupKind{Group: GroupAPIService, Kind: "APIService"}
}

// IsNamespace reports whether objects of the kind are namespaces.
func IsNamespace(kind schema.GroupKind) bool {
	return kind == schema.GroupKind{Kind: "Namespace"}
}

// DefinesTypes reports whether objects of the kind define types.
func DefinesTypes(kind schema.GroupKind) bool {
	return IsCRD(kind) || IsAPIService(kind)
}

// HasContent reports whether deleting an object of the kind also deletes objects without owner references to it.
func HasContent(kind schema.GroupKind) bool {
	return IsNamespace(kind) || DefinesTypes(kind)
}

// Policies returns the policies of an owner for objects of the kind. The propagation policy does not apply to objects
// with content, because it concerns owner references.
func Policies(kind schema.GroupKind, policies inventory.Policies) inventory.Policies {
	if HasContent(kind) {
		policies.DeletePropagation = ""
	}
	return policies
}

// IsWebhookConfiguration reports whether objects of the kind register admission webhooks.
func IsWebhookConfiguration(kind schema.GroupKind) bool {
	return kind.Group == GroupWebhook && (kind.Kind == "ValidatingWebhookConfiguration" || kind.Kind == "MutatingWebhookConfiguration")
}

// TierLast is the tier of webhook configurations that do not exist, the last one of a stage.
const TierLast = 1

// ApplyTier ranks kinds within a stage: kinds that others refer to, or that concern Pods from their start, come first.
// A webhook configuration that does not exist comes last: its server may be among the objects, which would be denied
// until it runs. An existing one comes early: it already calls its server, and may deny objects until its manifest is
// applied. The observer does not see existing ones without our label.
func ApplyTier(kind schema.GroupKind, exists bool) int {
	if IsWebhookConfiguration(kind) {
		if !exists {
			return TierLast
		}
		return -3
	}
	switch kind.String() {
	case "Namespace":
		return -4
	case "CustomResourceDefinition." + GroupCRD, "IngressClass.networking.k8s.io", "RuntimeClass.node.k8s.io", "PriorityClass.scheduling.k8s.io",
		"StorageClass.storage.k8s.io", "PersistentVolume", "LimitRange", "ResourceQuota", "ClusterRole." + GroupRBAC, "Role." + GroupRBAC:
		return -2
	case "ServiceAccount", "ConfigMap", "Secret", "Service", "PersistentVolumeClaim", "NetworkPolicy.networking.k8s.io", "PodDisruptionBudget.policy",
		"ClusterRoleBinding." + GroupRBAC, "RoleBinding." + GroupRBAC:
		return -1
	default:
		return 0
	}
}

// DeleteTier ranks kinds within a stage of deletion: kinds that others need for a proper deletion come last.
func DeleteTier(kind schema.GroupKind) int {
	switch {
	case DefinesTypes(kind):
		return -1
	case IsWebhookConfiguration(kind):
		return 1
	}
	switch kind.String() {
	case "Service", "ConfigMap", "Secret", "NetworkPolicy.networking.k8s.io":
		return 2
	case "Namespace":
		return 3
	case "IngressClass.networking.k8s.io", "RuntimeClass.node.k8s.io", "PriorityClass.scheduling.k8s.io", "StorageClass.storage.k8s.io":
		return 4
	default:
		return 0
	}
}

// Sort sorts desired objects in apply order.
func Sort(wanted []*Object, tier func(*Object) int) {
	slices.SortFunc(wanted, func(a, b *Object) int {
		return cmp.Or(
			cmp.Compare(a.ApplyOrder, b.ApplyOrder), cmp.Compare(a.Stage(), b.Stage()), cmp.Compare(a.Step, b.Step),
			cmp.Compare(tier(a), tier(b)), a.Key.Compare(b.Key),
		)
	})
}

// Group splits a sorted slice into runs of equal rank.
func Group[T any, R comparable](items []T, rank func(T) R) [][]T {
	var groups [][]T
	for start := 0; start < len(items); {
		end := start + 1
		for end < len(items) && rank(items[end]) == rank(items[start]) {
			end++
		}
		groups = append(groups, items[start:end])
		start = end
	}
	return groups
}

// FirstHook returns the index of the first apply hook among sorted desired objects; their number if there is none.
func FirstHook(wanted []*Object) int {
	if i := slices.IndexFunc(wanted, func(t *Object) bool { return t.Hook != "" }); i >= 0 {
		return i
	}
	return len(wanted)
}
