// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package prepare

import (
	"cmp"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/component-operator/runtime/internal/annotations"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/types"
)

// Defaults returns the documented defaults.
func Defaults() inventory.Policies {
	return inventory.Policies{
		Adoption:          inventory.AdoptionPolicyIfUnowned,
		Reconcile:         inventory.ReconcilePolicyOnObjectChange,
		Update:            inventory.UpdatePolicyReplace,
		Delete:            inventory.DeletePolicyDelete,
		Prune:             inventory.PrunePolicyDelete,
		PruneAt:           inventory.PruneAtEnd,
		Drift:             inventory.DriftPolicyCorrect,
		MissingNamespaces: inventory.MissingNamespacesPolicyCreate,
		DeleteOrder:       inventory.DeleteOrderExplicit,
		DeletePropagation: metav1.DeletePropagationBackground,
		ReapplyInterval:   60 * time.Minute,
	}
}

// Or fills empty fields with the defaults.
func Or(p, defaults inventory.Policies) inventory.Policies {
	p.Adoption = cmp.Or(p.Adoption, defaults.Adoption)
	p.Reconcile = cmp.Or(p.Reconcile, defaults.Reconcile)
	p.Update = cmp.Or(p.Update, defaults.Update)
	p.Delete = cmp.Or(p.Delete, defaults.Delete)
	p.Prune = cmp.Or(p.Prune, defaults.Prune)
	p.PruneAt = cmp.Or(p.PruneAt, defaults.PruneAt)
	p.Drift = cmp.Or(p.Drift, defaults.Drift)
	p.MissingNamespaces = cmp.Or(p.MissingNamespaces, defaults.MissingNamespaces)
	p.DeleteOrder = cmp.Or(p.DeleteOrder, defaults.DeleteOrder)
	p.DeletePropagation = cmp.Or(p.DeletePropagation, defaults.DeletePropagation)
	p.ReapplyInterval = cmp.Or(p.ReapplyInterval, defaults.ReapplyInterval)
	return p
}

// Validate returns the policies in their canonical spelling. The deprecated value "default" becomes empty.
func Validate(p inventory.Policies) (inventory.Policies, error) {
	var problems []string
	p.Adoption = check(&problems, "adoption policy", p.Adoption, policyOf[inventory.AdoptionPolicy](types.AnnotationKeySuffixAdoptionPolicy))
	p.Reconcile = check(&problems, "reconcile policy", p.Reconcile, policyOf[inventory.ReconcilePolicy](types.AnnotationKeySuffixReconcilePolicy))
	p.Update = check(&problems, "update policy", p.Update, policyOf[inventory.UpdatePolicy](types.AnnotationKeySuffixUpdatePolicy))
	p.Delete = check(&problems, "delete policy", p.Delete, ParseDelete)
	p.Prune = check(&problems, "prune policy", p.Prune, policyOf[inventory.PrunePolicy](types.AnnotationKeySuffixPrunePolicy))
	p.PruneAt = check(&problems, "prune at", p.PruneAt, oneOf(inventory.PruneAtEnd, inventory.PruneAtWaves))
	p.Drift = check(&problems, "drift policy", p.Drift, policyOf[inventory.DriftPolicy](types.AnnotationKeySuffixDriftPolicy))
	p.MissingNamespaces = check(&problems, "missing namespaces policy", p.MissingNamespaces,
		oneOf(inventory.MissingNamespacesPolicyDoNotCreate, inventory.MissingNamespacesPolicyCreate))
	p.DeleteOrder = check(&problems, "delete order", p.DeleteOrder, oneOf(inventory.DeleteOrderExplicit, inventory.DeleteOrderReversed))
	p.DeletePropagation = check(&problems, "delete propagation", p.DeletePropagation, policyOf[metav1.DeletionPropagation](types.AnnotationKeySuffixDeletePropagation))
	if p.ReapplyInterval != 0 {
		if err := annotations.CheckInterval(p.ReapplyInterval); err != nil {
			problems = append(problems, "reapply interval: "+err.Error())
		}
	}
	if len(problems) > 0 {
		return p, inventory.NewRefusedError(problems...)
	}
	return p, nil
}

func check[P ~string](problems *[]string, field string, value P, parse func(string) (P, error)) P {
	if value == "" {
		return ""
	}
	parsed, err := parse(string(value))
	if err != nil {
		*problems = append(*problems, field+": "+err.Error())
	}
	return parsed
}
