// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"fmt"

	"github.com/component-operator/runtime/internal/annotations"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/prepare"
	"github.com/component-operator/runtime/pkg/types"
)

// rule checks the planned inventory as a whole and returns problems.
type rule func(wanted []*prepare.Object, items []*inventory.Item, managed prepare.TypeSet) []string

// Validate applies all rules, and reports all problems at once.
func Validate(wanted []*prepare.Object, items []*inventory.Item, additional []inventory.TypeInfo) error {
	managed := prepare.NewTypeSet(additional, items...)
	var problems []string
	for _, check := range []rule{holding, typesAroundInstances, namespacesAroundContent} {
		problems = append(problems, check(wanted, items, managed)...)
	}
	if len(problems) > 0 {
		return inventory.NewRefusedError(problems...)
	}
	return nil
}

// holding refuses policies of objects that others depend on. They cannot be purged, nor be hooks; and a propagation
// policy would promise what cannot be kept, since what goes with them has no owner references to them.
func holding(wanted []*prepare.Object, _ []*inventory.Item, _ prepare.TypeSet) []string {
	var problems []string
	for _, t := range wanted {
		if !prepare.HasContent(t.Key.GroupKind) {
			continue
		}
		for what, declared := range map[string]bool{"a purge order": t.PurgeOrder != nil, "purge-on-failure": t.PurgeOnFailure, "apply-hook": t.Hook != ""} {
			if declared {
				problems = append(problems, fmt.Sprintf("%s: %s is not allowed on objects of this kind", t.Key, what))
			}
		}
		if t.DeletePropagation != "" {
			problems = append(problems, fmt.Sprintf("%s: delete propagation %s is not allowed on objects of this kind; must be %s",
				t.Key, annotations.Kebab(string(t.DeletePropagation)), types.DeletePropagationBackground))
		}
	}
	return problems
}

// typesAroundInstances requires that types are created before their instances and deleted after them.
func typesAroundInstances(wanted []*prepare.Object, items []*inventory.Item, managed prepare.TypeSet) []string {
	if len(managed.Items) == 0 {
		return nil
	}
	byKey := Index(items)
	var problems []string
	for _, t := range wanted {
		// Definitions that are recorded and no longer among the objects count, too.
		for _, key := range managed.Definitions(t.GVK()) {
			problems = append(problems, nesting(t, byKey[key], "defines its type")...)
		}
	}
	return problems
}

// namespacesAroundContent requires that namespaces are created before their content and deleted after it.
func namespacesAroundContent(wanted []*prepare.Object, items []*inventory.Item, _ prepare.TypeSet) []string {
	namespaces := map[string]*inventory.Item{}
	for _, item := range items {
		if prepare.IsNamespace(item.GroupVersionKind().GroupKind()) {
			namespaces[item.Name] = item
		}
	}
	if len(namespaces) == 0 {
		return nil
	}
	var problems []string
	for _, t := range wanted {
		if namespace := namespaces[t.Key.Namespace]; t.Key.Namespace != "" && namespace != nil {
			problems = append(problems, nesting(t, namespace, "contains it")...)
		}
	}
	return problems
}

// nesting checks that the outer object exists as long as the inner one.
func nesting(inner *prepare.Object, outer *inventory.Item, why string) []string {
	var problems []string
	if outer.Phase == inventory.PhaseScheduledForDeletion && outer.DeletePolicy == inventory.DeletePolicyOrphan {
		return nil // it stays as an orphan
	}
	if IsUnwanted(outer) {
		return []string{fmt.Sprintf("%s: cannot be kept, because %s, which %s, will be deleted", inner.Key, types.IDOf(outer), why)}
	}
	if prepare.IsOrphanedOnDelete(inner.Delete) && !prepare.IsOrphanedOnDelete(outer.DeletePolicy) {
		problems = append(problems, fmt.Sprintf("%s: delete policy %s is not allowed; the object would be deleted with %s, which %s, and has the delete policy %s",
			inner.Key, annotations.Kebab(string(inner.Delete)), types.IDOf(outer), why, annotations.Kebab(string(outer.DeletePolicy))))
	}
	if inner.ApplyOrder < outer.ApplyOrder {
		problems = append(problems, fmt.Sprintf("%s: apply order %d is not allowed; it must be at least that of %s (%d), which %s",
			inner.Key, inner.ApplyOrder, types.IDOf(outer), outer.ApplyOrder, why))
	}
	if inner.DeleteOrder > outer.DeleteOrder {
		problems = append(problems, fmt.Sprintf("%s: delete order %d is not allowed; it must be at most that of %s (%d), which %s",
			inner.Key, inner.DeleteOrder, types.IDOf(outer), outer.DeleteOrder, why))
	}
	return problems
}
