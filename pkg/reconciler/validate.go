// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler

import (
	"fmt"

	"github.com/component-operator/runtime/internal/annotations"
)

// rule checks the plan as a whole and returns problems.
type rule func(targets []*target, items []*InventoryItem, types typeSet) []string

// validatePlan applies all rules, so that all problems are reported at once, before anything is written.
func validatePlan(targets []*target, items []*InventoryItem, additional []TypeInfo) error {
	types := newTypeSet(additional)
	for _, item := range items {
		if len(item.ManagedTypes) > 0 {
			types.items[keyOf(item)] = item.ManagedTypes
		}
	}
	var problems []string
	for _, check := range []rule{purgeable, typesAroundInstances, namespacesAroundContent} {
		problems = append(problems, check(targets, items, types)...)
	}
	if len(problems) > 0 {
		return refused(problems...)
	}
	return nil
}

// purgeable refuses to purge what others depend on.
func purgeable(targets []*target, _ []*InventoryItem, _ typeSet) []string {
	var problems []string
	for _, t := range targets {
		if t.purgeOrder != nil && (isNamespace(t.key.GroupKind) || definesTypes(t.key.GroupKind)) {
			problems = append(problems, fmt.Sprintf("%s: a purge order is not allowed on objects of this kind", t.key))
		}
		if t.purgeOnFailure && (isNamespace(t.key.GroupKind) || definesTypes(t.key.GroupKind)) {
			problems = append(problems, fmt.Sprintf("%s: purge-on-failure is not allowed on objects of this kind", t.key))
		}
	}
	return problems
}

// typesAroundInstances demands that types come before and go after their instances.
func typesAroundInstances(targets []*target, items []*InventoryItem, types typeSet) []string {
	if len(types.items) == 0 {
		return nil
	}
	byKey := index(items)
	var problems []string
	for _, t := range targets {
		// Also those definitions count that are recorded, and are not among the objects any more.
		for _, key := range types.definitions(t.gvk()) {
			problems = append(problems, nesting(t, byKey[key], "defines its type")...)
		}
	}
	return problems
}

// namespacesAroundContent demands that namespaces come before and go after what they contain.
func namespacesAroundContent(targets []*target, items []*InventoryItem, _ typeSet) []string {
	namespaces := map[string]*InventoryItem{}
	for _, item := range items {
		if isNamespace(item.GroupVersionKind().GroupKind()) {
			namespaces[item.Name] = item
		}
	}
	if len(namespaces) == 0 {
		return nil
	}
	var problems []string
	for _, t := range targets {
		if namespace := namespaces[t.key.namespace]; t.key.namespace != "" && namespace != nil {
			problems = append(problems, nesting(t, namespace, "contains it")...)
		}
	}
	return problems
}

// nesting checks that the outer object exists as long as the inner one.
func nesting(inner *target, outer *InventoryItem, why string) []string {
	var problems []string
	if outer.Phase == PhaseScheduledForDeletion && outer.DeletePolicy == DeletePolicyOrphan {
		return nil // it stays, and is only released
	}
	if outer.unwanted() {
		return []string{fmt.Sprintf("%s: cannot stay, because %s, which %s, is to be deleted", inner.key, keyOf(outer), why)}
	}
	if inner.delete.orphanedOnDelete() && !outer.DeletePolicy.orphanedOnDelete() {
		problems = append(problems, fmt.Sprintf("%s: delete policy %s is not allowed; it would go with %s, which %s, and has the delete policy %s",
			inner.key, annotations.Kebab(string(inner.delete)), keyOf(outer), why, annotations.Kebab(string(outer.DeletePolicy))))
	}
	if inner.applyOrder < outer.ApplyOrder {
		problems = append(problems, fmt.Sprintf("%s: apply order %d is not allowed; it must be at least that of %s (%d), which %s",
			inner.key, inner.applyOrder, keyOf(outer), outer.ApplyOrder, why))
	}
	if inner.deleteOrder > outer.DeleteOrder {
		problems = append(problems, fmt.Sprintf("%s: delete order %d is not allowed; it must be at most that of %s (%d), which %s",
			inner.key, inner.deleteOrder, keyOf(outer), outer.DeleteOrder, why))
	}
	return problems
}

func index(items []*InventoryItem) map[objectKey]*InventoryItem {
	byKey := make(map[objectKey]*InventoryItem, len(items))
	for _, item := range items {
		byKey[keyOf(item)] = item
	}
	return byKey
}
