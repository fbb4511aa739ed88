// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/component-operator/runtime/internal/gitops"
	"github.com/component-operator/runtime/pkg/types"
)

// hookSuffixes are the annotations that hooks are made of.
var hookSuffixes = []string{
	types.AnnotationKeySuffixApplyOrder, types.AnnotationKeySuffixDeleteOrder, types.AnnotationKeySuffixPurgeOrder, types.AnnotationKeySuffixPurgeOnFailure,
	types.AnnotationKeySuffixReconcilePolicy, types.AnnotationKeySuffixUpdatePolicy, types.AnnotationKeySuffixDeletionHook, types.AnnotationKeySuffixReleaseHook,
	types.AnnotationKeySuffixAdoptionPolicy,
}

// withoutPrefix returns the key of an annotation without a prefix; empty if it has another one.
func withoutPrefix(key, prefix string) string {
	if suffix, ok := strings.CutPrefix(key, prefix); ok {
		return suffix
	}
	return ""
}

// demand returns the annotations, by suffix, that an object has in a phase.
func (r *hookReading) demand(steering gitops.Steering, phase gitops.Phase, kind schema.GroupKind) (map[string]string, error) {
	demanded, err := demandedByOptions(steering.Options)
	if err != nil {
		return nil, err
	}
	switch phase {
	case gitops.SyncFail:
		return nil, fmt.Errorf("annotation %s: phase %s is not possible; allowed are: PreSync, Sync, PostSync, PreDelete, PostDelete, Skip", gitops.HookAnnotation, phase)
	case gitops.PreDelete, gitops.PostDelete:
		demandDeletion(demanded, steering, phase)
	case gitops.PreSync, gitops.Sync, gitops.PostSync:
		order := gitops.ApplyOrder(phase, steering.Wave)
		if steering.Hook || steering.Wave != 0 {
			demanded[types.AnnotationKeySuffixApplyOrder] = strconv.Itoa(order)
			demanded[types.AnnotationKeySuffixDeleteOrder] = strconv.Itoa(-order)
		}
		if steering.Hook {
			demandRepetition(demanded, steering, order)
		}
	}
	if steering.Hook && kind == (schema.GroupKind{Kind: "Pod"}) {
		demanded[types.AnnotationKeySuffixStatusHint] = types.StatusHintRunToCompletion
	}
	return demanded, nil
}

// demandDeletion demands what makes an object a hook of deletions. These hooks are removed anyway when all are ready, and a failed one must stay to block the deletion.
func demandDeletion(demanded map[string]string, steering gitops.Steering, phase gitops.Phase) {
	demanded[types.AnnotationKeySuffixDeletionHook] = map[gitops.Phase]string{
		gitops.PreDelete: types.DeletionHookPreDelete, gitops.PostDelete: types.DeletionHookPostDelete,
	}[phase]
	demanded[types.AnnotationKeySuffixApplyOrder] = strconv.Itoa(steering.Wave)
	demanded[types.AnnotationKeySuffixUpdatePolicy] = types.UpdatePolicyRecreate
	if slices.Contains(steering.DeletePolicies, gitops.BeforeHookCreation) {
		demanded[types.AnnotationKeySuffixAdoptionPolicy] = types.AdoptionPolicyIfUnowned
	}
}

// demandRepetition demands what makes an object run once in each revision, and go when its policies say so.
func demandRepetition(demanded map[string]string, steering gitops.Steering, order int) {
	demanded[types.AnnotationKeySuffixReconcilePolicy] = types.ReconcilePolicyOnObjectOrComponentChange
	for _, policy := range steering.DeletePolicies {
		switch policy {
		case gitops.HookSucceeded:
			demanded[types.AnnotationKeySuffixPurgeOrder] = strconv.Itoa(order)
		case gitops.HookFailed:
			demanded[types.AnnotationKeySuffixPurgeOnFailure] = "true"
		case gitops.BeforeHookCreation:
			demanded[types.AnnotationKeySuffixUpdatePolicy] = types.UpdatePolicyRecreate
		}
	}
}

// demandedByOptions returns what sync options demand.
func demandedByOptions(options gitops.Options) (map[string]string, error) {
	demanded := map[string]string{}
	switch options.Get(gitops.Prune) {
	case gitops.False:
		demanded[types.AnnotationKeySuffixPrunePolicy] = types.PrunePolicyKeep
	case gitops.Confirm:
		demanded[types.AnnotationKeySuffixPrunePolicy] = types.PrunePolicyConfirm
	}
	for option, value := range map[gitops.Option]string{gitops.Delete: gitops.Confirm, gitops.Force: gitops.True} {
		if options.Get(option) == value {
			return nil, fmt.Errorf("annotation %s: %s=%s is not possible", gitops.SyncOptionsAnnotation, option, value)
		}
	}
	if options.Get(gitops.Delete) == gitops.False {
		demanded[types.AnnotationKeySuffixDeletePolicy] = types.DeletePolicyOrphanOnDelete
	}
	if options.Get(gitops.Replace) == gitops.True {
		demanded[types.AnnotationKeySuffixUpdatePolicy] = types.UpdatePolicyReplace
	}
	if propagation, given := options[gitops.PrunePropagationPolicy]; given {
		demanded[types.AnnotationKeySuffixDeletePropagation] = propagation
	}
	return demanded, nil
}
