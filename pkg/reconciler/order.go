// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/component-operator/runtime/internal/observe"
)

const (
	groupCRD        = "apiextensions.k8s.io"
	groupAPIService = "apiregistration.k8s.io"
	groupRBAC       = "rbac.authorization.k8s.io"
	groupWebhook    = "admissionregistration.k8s.io"
)

func isCRD(kind schema.GroupKind) bool {
	return kind == schema.GroupKind{Group: groupCRD, Kind: "CustomResourceDefinition"}
}

func isAPIService(kind schema.GroupKind) bool {
	return kind == schema.GroupKind{Group: groupAPIService, Kind: "APIService"}
}

func isNamespace(kind schema.GroupKind) bool {
	return kind == schema.GroupKind{Kind: "Namespace"}
}

// definesTypes tells whether objects of the kind bring types into the cluster.
func definesTypes(kind schema.GroupKind) bool {
	return isCRD(kind) || isAPIService(kind)
}

func isWebhookConfiguration(kind schema.GroupKind) bool {
	return kind.Group == groupWebhook && (kind.Kind == "ValidatingWebhookConfiguration" || kind.Kind == "MutatingWebhookConfiguration")
}

// tierLast is the tier of webhook configurations that do not exist. It begins when everything before it in its stage has been written.
const tierLast = 1

// applyTier ranks objects within a stage: what others refer to comes first. A webhook configuration that does not exist comes last: what
// answers its calls may be among the objects that are denied until it does. One that exists denies them already, and may do so because
// of what its manifest changes. Of one that does not have our label, the observer does not know; see hindering.
func applyTier(kind schema.GroupKind, exists bool) int {
	if isWebhookConfiguration(kind) {
		if !exists {
			return tierLast
		}
		return -3
	}
	switch kind {
	case schema.GroupKind{Kind: "Namespace"}:
		return -4
	case schema.GroupKind{Group: groupCRD, Kind: "CustomResourceDefinition"},
		schema.GroupKind{Group: "networking.k8s.io", Kind: "IngressClass"},
		schema.GroupKind{Group: "node.k8s.io", Kind: "RuntimeClass"},
		schema.GroupKind{Group: "scheduling.k8s.io", Kind: "PriorityClass"},
		schema.GroupKind{Group: "storage.k8s.io", Kind: "StorageClass"},
		schema.GroupKind{Group: groupRBAC, Kind: "ClusterRole"},
		schema.GroupKind{Group: groupRBAC, Kind: "Role"}:
		return -2
	case schema.GroupKind{Kind: "ServiceAccount"},
		schema.GroupKind{Kind: "LimitRange"},
		schema.GroupKind{Kind: "ResourceQuota"},
		schema.GroupKind{Kind: "ConfigMap"},
		schema.GroupKind{Kind: "Secret"},
		schema.GroupKind{Group: groupRBAC, Kind: "ClusterRoleBinding"},
		schema.GroupKind{Group: groupRBAC, Kind: "RoleBinding"}:
		return -1
	default:
		return 0
	}
}

// deleteTier ranks kinds within a stage of deletion: what others need to end properly goes last.
func deleteTier(kind schema.GroupKind) int {
	switch {
	case definesTypes(kind):
		return -1
	case isWebhookConfiguration(kind):
		return 1
	}
	switch kind {
	case schema.GroupKind{Kind: "Service"},
		schema.GroupKind{Kind: "ConfigMap"},
		schema.GroupKind{Kind: "Secret"}:
		return 2
	case schema.GroupKind{Kind: "Namespace"}:
		return 3
	case schema.GroupKind{Group: "networking.k8s.io", Kind: "IngressClass"},
		schema.GroupKind{Group: "node.k8s.io", Kind: "RuntimeClass"},
		schema.GroupKind{Group: "scheduling.k8s.io", Kind: "PriorityClass"},
		schema.GroupKind{Group: "storage.k8s.io", Kind: "StorageClass"}:
		return 4
	default:
		return 0
	}
}

// compareKeys orders by kind, namespace and name.
func compareKeys(a, b objectKey) int {
	return cmp.Or(
		cmp.Compare(a.Group, b.Group), cmp.Compare(a.Kind, b.Kind),
		cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.name, b.name),
	)
}

// sortTargets puts targets into the order in which they are applied.
func sortTargets(targets []*target, tier func(*target) int) {
	slices.SortFunc(targets, func(a, b *target) int {
		return cmp.Or(
			cmp.Compare(a.applyOrder, b.applyOrder), cmp.Compare(a.stage(), b.stage()),
			cmp.Compare(tier(a), tier(b)), compareKeys(a.key, b.key),
		)
	})
}

// tiers are those of targets within their stages, by the index of the target.
type tiers []int

func (r tiers) of(t *target) int { return r[t.index] }

// arrange puts the targets into the order in which this pass applies them, and returns their tiers. The observer must have been told of
// their kinds.
func arrange(targets []*target, works []work, known observer) tiers {
	ranks := make(tiers, len(works))
	for _, t := range targets {
		exists := true
		if isWebhookConfiguration(t.key.GroupKind) {
			_, view := known.Get(t.gvk(), t.key.namespace, t.key.name)
			exists = view == observe.Present || view == observe.Unseen && works[t.index].item.UID != ""
		}
		ranks[t.index] = applyTier(t.key.GroupKind, exists)
	}
	sortTargets(targets, ranks.of)
	return ranks
}

// sortInventory puts items into the order in which they would be deleted; this is also the order in which they are
// recorded.
func sortInventory(items []*InventoryItem) {
	slices.SortFunc(items, func(a, b *InventoryItem) int {
		return cmp.Or(
			cmp.Compare(a.DeleteOrder, b.DeleteOrder),
			cmp.Compare(deleteTier(a.GroupVersionKind().GroupKind()), deleteTier(b.GroupVersionKind().GroupKind())),
			compareKeys(keyOf(a), keyOf(b)),
		)
	})
}

// group splits a sorted slice into runs of equal rank.
func group[T any, R comparable](items []T, rank func(T) R) [][]T {
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
