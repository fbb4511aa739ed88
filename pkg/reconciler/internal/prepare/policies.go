// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package prepare

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/component-operator/runtime/internal/annotations"
	"github.com/component-operator/runtime/internal/observe"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/types"
)

// policyOf returns a parser for the values of a policy; suffix is the suffix of its annotation. It returns "" for the
// deprecated value "default".
func policyOf[P ~string](suffix string) func(text string) (P, error) {
	return func(text string) (P, error) {
		value, err := annotations.Policy(suffix, text)
		return P(annotations.Camel(value)), err
	}
}

// textOf is policyOf for a policy outside the inventory, or for hooks.
func textOf(suffix string) func(text string) (string, error) {
	return func(text string) (string, error) { return annotations.Policy(suffix, text) }
}

// oneOf returns a parser for the values of a policy without an annotation, which only owners can set.
func oneOf[P ~string](values ...P) func(text string) (P, error) {
	spelled := make([]string, len(values))
	for i, value := range values {
		spelled[i] = annotations.Kebab(string(value))
	}
	return func(text string) (P, error) {
		value, err := annotations.OneOf(text, spelled...)
		return P(annotations.Camel(value)), err
	}
}

// ParseDelete parses a delete policy, as annotations spell it.
func ParseDelete(text string) (inventory.DeletePolicy, error) {
	return policyOf[inventory.DeletePolicy](types.AnnotationKeySuffixDeletePolicy)(text)
}

// PruneOf returns the prune policy that an annotation spells; empty if it spells none.
func PruneOf(text string) inventory.PrunePolicy {
	policy, _ := policyOf[inventory.PrunePolicy](types.AnnotationKeySuffixPrunePolicy)(text)
	return policy
}

// Final returns the outcome of a policy when its object becomes redundant: DeletePolicyOrphan, or one that deletes the
// object. The outcome is recorded, because the reason for it may change before the object is gone. A required approval
// for the deletion with the owner stays in force until then.
func Final(p inventory.DeletePolicy, orphaned func(inventory.DeletePolicy) bool) inventory.DeletePolicy {
	switch {
	case orphaned(p):
		return inventory.DeletePolicyOrphan
	case p == inventory.DeletePolicyConfirmOnDelete:
		return p
	default:
		return inventory.DeletePolicyDelete
	}
}

// Join returns the policy that orphans an object whenever one of the two does, and demands approval whenever one of
// them does. No policy both orphans objects whose manifests are removed and demands approval: then the object is
// orphaned in all cases.
func Join(p, other inventory.DeletePolicy) inventory.DeletePolicy {
	onApply, onDelete := IsOrphanedOnApply(p) || IsOrphanedOnApply(other), IsOrphanedOnDelete(p) || IsOrphanedOnDelete(other)
	confirmed := p == inventory.DeletePolicyConfirmOnDelete || other == inventory.DeletePolicyConfirmOnDelete
	switch {
	case onApply && (onDelete || confirmed):
		return inventory.DeletePolicyOrphan
	case onApply:
		return inventory.DeletePolicyOrphanOnApply
	case onDelete:
		return inventory.DeletePolicyOrphanOnDelete
	case confirmed:
		return inventory.DeletePolicyConfirmOnDelete
	default:
		return inventory.DeletePolicyDelete
	}
}

// JoinPrune returns the policy that protects an object whenever one of the two does.
func JoinPrune(p, other inventory.PrunePolicy) inventory.PrunePolicy {
	for _, policy := range []inventory.PrunePolicy{inventory.PrunePolicyKeep, inventory.PrunePolicyConfirm} {
		if p == policy || other == policy {
			return policy
		}
	}
	return p
}

// IsOrphanedOnApply reports whether the policy orphans an object that is removed from the manifests.
func IsOrphanedOnApply(p inventory.DeletePolicy) bool {
	return slices.Contains([]inventory.DeletePolicy{inventory.DeletePolicyOrphan, inventory.DeletePolicyOrphanOnApply}, p)
}

// IsOrphanedOnDelete reports whether the policy orphans an object whose owner is deleted.
func IsOrphanedOnDelete(p inventory.DeletePolicy) bool {
	return slices.Contains([]inventory.DeletePolicy{inventory.DeletePolicyOrphan, inventory.DeletePolicyOrphanOnDelete}, p)
}

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

// ofHook returns the policies of an owner for a hook: by default, it is applied again whenever the owner changes, and a
// hook that runs to completion is then recreated.
func ofHook(hook string, object *unstructured.Unstructured, policies inventory.Policies) inventory.Policies {
	if hook == "" {
		return policies
	}
	policies.Reconcile = inventory.ReconcilePolicyOnObjectOrComponentChange
	if observe.RunsToCompletion(object.GroupVersionKind().GroupKind()) {
		policies.Update = inventory.UpdatePolicyRecreate
	}
	return policies
}

// takePlace moves a hook behind all other objects. Unless an annotation sets their delete order, hooks and objects of
// awaited types are deleted before all others; the controllers of these types may have to act before the objects are
// gone.
func (e *Effective) takePlace(p *annotationParser) {
	base := map[string]int{types.ApplyHookPostApply: types.PostApplyOrder, types.ApplyHookOnFailure: types.OnFailureOrder}[e.Hook]
	if base == 0 && !e.AwaitsType {
		return
	}
	e.ApplyOrder += base
	if e.PurgeOrder != nil {
		*e.PurgeOrder += base
	}
	if _, ok := p.values[p.prefix+types.AnnotationKeySuffixDeleteOrder]; !ok {
		e.DeleteOrder = types.MinOrder
	}
}

// Keys are the labels and annotations of one reconciler.
type Keys struct {
	Prefix, OwnerLabel, OwnerAnnotation, Digest, PrunePolicy, BarrierLabel string
}

// NewKeys returns the keys of the reconciler with the given name.
func NewKeys(name string) Keys {
	return Keys{
		Prefix:          name + "/",
		OwnerLabel:      name + "/" + types.LabelKeySuffixOwnerId,
		OwnerAnnotation: name + "/" + types.AnnotationKeySuffixOwnerId,
		Digest:          name + "/" + types.AnnotationKeySuffixDigest,
		PrunePolicy:     name + "/" + types.AnnotationKeySuffixPrunePolicy,
		BarrierLabel:    name + "/" + types.LabelKeySuffixBarrierOwnerId,
	}
}
