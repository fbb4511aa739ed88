// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/gitops"
	"github.com/component-operator/runtime/pkg/types"
)

// HookTool is a tool whose annotations a HookTransformer reads.
type HookTool string

// The tools.
const (
	// HookToolArgoCD reads argocd.argoproj.io/hook, hook-delete-policy, sync-wave and sync-options.
	HookToolArgoCD HookTool = "argocd"
	// HookToolHelm reads helm.sh/hook, hook-weight, hook-delete-policy and resource-policy as generators for Helm
	// charts do. Charts need no transformer for that.
	HookToolHelm HookTool = "helm"
)

// HookTransformer translates the annotations with which other tools order and repeat objects into those of the
// reconciler. It is [Pure], and needs the context of the generation.
//
// Annotations of Argo CD become, for wave w, an integer between -9999 and 9999 that defaults to 0:
//
//	sync-wave, without a hook                apply-order w, delete-order -w
//	hook: PreSync                            apply-order w-20000, delete-order 20000-w
//	hook: Sync                               apply-order w, delete-order -w
//	hook: PostSync                           apply-hook post-apply, apply-order w
//	hook: SyncFail                           apply-hook on-failure, apply-order w
//	hook: PreDelete, PostDelete              deletion-hook, apply-order w
//	hook: Skip                               the object is left out
//	hook-delete-policy: HookSucceeded        purge-order: a Job or Pod is deleted when its wave has succeeded, others with the last wave of their phase
//	hook-delete-policy: HookFailed           purge-on-failure
//	hook-delete-policy: BeforeHookCreation   update-policy recreate, delete-propagation foreground
//	sync-options: Prune=false, confirm       prune-policy keep, confirm
//	sync-options: Delete=false, confirm      delete-policy orphan-on-delete, confirm-on-delete
//	sync-options: PrunePropagationPolicy     delete-propagation
//	sync-options: Replace=true               update-policy replace; with Force=true, a hook also has BeforeHookCreation
//	sync-options: Force=true                 recreate-if-immutable
//	sync-options: SkipDryRunOnMissingResource=true   missing-type-policy wait
//
// Hooks have reconcile-policy on-object-or-component-change, so they run again whenever the component has changed.
// Without a delete policy, Jobs, Pods and custom resources have BeforeHookCreation; other objects are updated. A hook
// with several phases becomes one object per phase: the first one keeps the name, and the others have names such as
// "migrate-postsync". An object that others use, such as a ServiceAccount, is applied once for all its phases. A hook
// with generateName, or without any name, gets a name that depends on its manifest, its phase, the component and the
// revision of the component. A Namespace or CustomResourceDefinition with a later wave than an object that needs it is
// moved to the wave of that object.
//
// PruneLast=true, ServerSideApply=true, ApplyOutOfSyncOnly=true and RespectIgnoreDifferences=true are always the case,
// and ignored. ServerSideApply=false is refused, and so are values that Argo CD does not support and would ignore.
// Other options cause a warning.
//
// If an object has hooks of both tools, those of Argo CD win. If it has only a hook of Helm, its order is that of Helm.
// An object that Helm would keep (helm.sh/resource-policy: keep) has delete-policy orphan.
type HookTransformer struct {
	argo, helm bool
}

var (
	_ ContextObjectTransformer = &HookTransformer{}
	_ Pure                     = &HookTransformer{}
)

// NewHookTransformer returns a transformer for the annotations of the given tools. At least one is required.
func NewHookTransformer(tools ...HookTool) (*HookTransformer, error) {
	if len(tools) == 0 {
		return nil, fmt.Errorf("reading hooks: no tool is given; must be one of: %s, %s", HookToolArgoCD, HookToolHelm)
	}
	t := &HookTransformer{}
	for _, tool := range tools {
		switch tool {
		case HookToolArgoCD:
			t.argo = true
		case HookToolHelm:
			t.helm = true
		default:
			return nil, fmt.Errorf("reading hooks: invalid tool %q; must be one of: %s, %s", tool, HookToolArgoCD, HookToolHelm)
		}
	}
	return t, nil
}

// Fingerprint covers the tools. Its version must change when annotations are translated differently.
func (t *HookTransformer) Fingerprint() string {
	return fmt.Sprintf("hooks/3 argocd=%t helm=%t", t.argo, t.helm)
}

// TransformObjects always fails, because it has no context.
func (t *HookTransformer) TransformObjects(namespace string, name string, objects []client.Object) ([]client.Object, error) {
	return t.TransformObjectsContext(context.Background(), namespace, name, objects)
}

// TransformObjectsContext returns the objects with the annotations of the reconciler added. It does not change the
// given objects.
func (t *HookTransformer) TransformObjectsContext(ctx context.Context, namespace string, name string, objects []client.Object) ([]client.Object, error) {
	if err := checkObjects(objects); err != nil {
		return nil, err
	}
	r, err := t.reading(ctx, namespace+"/"+name)
	if err != nil {
		return nil, err
	}
	var problems []error
	var result []hooked
	for _, object := range objects {
		variants, err := r.read(ctx, object)
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", textOf(object)+object.GetGenerateName(), err))
		}
		result = append(result, variants...)
	}
	if len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	if t.argo {
		if err := r.lift(namespace, result); err != nil {
			return nil, err
		}
	}
	transformed := make([]client.Object, len(result))
	for i, each := range result {
		transformed[i] = each.object
	}
	return transformed, nil
}

// hookSuffixes are the suffixes of the annotations that define hooks.
var hookSuffixes = []string{
	types.AnnotationKeySuffixApplyOrder, types.AnnotationKeySuffixDeleteOrder, types.AnnotationKeySuffixPurgeOrder, types.AnnotationKeySuffixPurgeOnFailure,
	types.AnnotationKeySuffixReconcilePolicy, types.AnnotationKeySuffixUpdatePolicy, types.AnnotationKeySuffixDeletionHook, types.AnnotationKeySuffixReleaseHook,
	types.AnnotationKeySuffixApplyHook, types.AnnotationKeySuffixAdoptionPolicy,
}

// phasesOf returns the phases for which an object of a given type is needed.
func (r *hookReading) phasesOf(ctx context.Context, object client.Object, kind schema.GroupKind, steering *gitops.Steering) []gitops.Phase {
	phases := slices.Clone(steering.Phases)
	if isContainer(kind) {
		// Namespaces and definitions must not be repeated.
		for i, phase := range phases {
			if phase == gitops.PostSync || phase == gitops.SyncFail {
				phases[i] = gitops.Sync
			}
		}
		phases = slices.Compact(phases)
	}
	first := slices.IndexFunc(phases, isDeletion)
	if first < 0 {
		first = len(phases)
	}
	if object.GetName() == "" || !isPassive(kind) || first < 2 {
		return phases
	}
	// One object is applied for all phases.
	earliest := phases[0]
	if earliest == gitops.PostSync {
		earliest = gitops.Sync
	}
	ends := func(policy gitops.DeletePolicy) bool { return policy != gitops.BeforeHookCreation }
	if slices.ContainsFunc(steering.DeletePolicies, ends) {
		r.warn(ctx, object, kind, []string{fmt.Sprintf("annotation %s: it is not deleted after a phase, because it is there for several phases", gitops.HookDeletePolicyAnnotation)})
		steering.DeletePolicies = slices.DeleteFunc(slices.Clone(steering.DeletePolicies), ends)
	}
	return append([]gitops.Phase{earliest}, phases[first:]...)
}

// isDeletion reports whether a phase belongs to the deletion of a component.
func isDeletion(phase gitops.Phase) bool {
	return phase == gitops.PreDelete || phase == gitops.PostDelete
}

// isContainer reports whether deleting an object of the type deletes other objects, too.
func isContainer(kind schema.GroupKind) bool {
	return kind == schema.GroupKind{Kind: "Namespace"} || kind.Group == "apiextensions.k8s.io" || kind.Group == "apiregistration.k8s.io"
}

// demand returns the annotations, by suffix, that an object has in a phase, in addition to its own.
func (r *hookReading) demand(steering gitops.Steering, phase gitops.Phase, kind schema.GroupKind, given map[string]string) map[string]string {
	demanded := demandOptions(steering.Options, given)
	lacks := func(suffix string) bool { _, exists := given[r.prefix+suffix]; return !exists }
	switch phase {
	case gitops.PreDelete, gitops.PostDelete:
		demandDeletion(demanded, steering, phase)
	case gitops.PostSync, gitops.SyncFail:
		demanded[types.AnnotationKeySuffixApplyHook] = map[gitops.Phase]string{
			gitops.PostSync: types.ApplyHookPostApply, gitops.SyncFail: types.ApplyHookOnFailure,
		}[phase]
		demanded[types.AnnotationKeySuffixApplyOrder] = strconv.Itoa(steering.Wave)
		demandRepetition(demanded, steering, phase, kind, lacks)
	case gitops.PreSync, gitops.Sync:
		order := gitops.ApplyOrder(phase, steering.Wave)
		if steering.Hook || steering.Wave != 0 {
			demanded[types.AnnotationKeySuffixApplyOrder] = strconv.Itoa(order)
			if lacks(types.AnnotationKeySuffixDeleteOrder) {
				demanded[types.AnnotationKeySuffixDeleteOrder] = strconv.Itoa(-order)
			}
		}
		if steering.Hook {
			demandRepetition(demanded, steering, phase, kind, lacks)
		}
	}
	if steering.Hook && kind == (schema.GroupKind{Kind: "Pod"}) && lacks(types.AnnotationKeySuffixStatusHint) {
		demanded[types.AnnotationKeySuffixStatusHint] = types.StatusHintRunToCompletion
	}
	return demanded
}

// demandDeletion demands the annotations of a deletion hook. Delete policies are not translated, because deletion hooks
// are removed when all are ready, and a failed one must stay to block the deletion.
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

// demandRepetition demands that an object runs once per revision and is deleted according to its delete policies.
func demandRepetition(demanded map[string]string, steering gitops.Steering, phase gitops.Phase, kind schema.GroupKind, lacks func(suffix string) bool) {
	demanded[types.AnnotationKeySuffixReconcilePolicy] = types.ReconcilePolicyOnObjectOrComponentChange
	if _, given := demanded[types.AnnotationKeySuffixPrunePolicy]; !given && lacks(types.AnnotationKeySuffixPrunePolicy) {
		// A hook of an earlier revision may have another name. A policy to keep or confirm redundant objects is not
		// meant for it.
		demanded[types.AnnotationKeySuffixPrunePolicy] = types.PrunePolicyDelete
	}
	for _, policy := range steering.DeletePolicies {
		switch policy {
		case gitops.HookSucceeded:
			wave := steering.Wave
			if !ends(kind) {
				// Other hooks of the phase may still need the object.
				wave = gitops.MaxWave
			}
			demanded[types.AnnotationKeySuffixPurgeOrder] = strconv.Itoa(gitops.ApplyOrder(phase, wave))
		case gitops.HookFailed:
			demanded[types.AnnotationKeySuffixPurgeOnFailure] = "true"
		case gitops.BeforeHookCreation:
			demandRecreation(demanded, steering, kind, lacks)
		}
	}
}

// demandRecreation demands that a hook of an earlier run is deleted, with its pods, before it runs again, because
// replacing it would not run it. Objects that others use are updated or replaced unless their deletion was requested.
func demandRecreation(demanded map[string]string, steering gitops.Steering, kind schema.GroupKind, lacks func(suffix string) bool) {
	if steering.Defaulted && (isPassive(kind) || !lacks(types.AnnotationKeySuffixUpdatePolicy)) {
		return
	}
	demanded[types.AnnotationKeySuffixUpdatePolicy] = types.UpdatePolicyRecreate
	if _, given := demanded[types.AnnotationKeySuffixDeletePropagation]; !given && !isPassive(kind) && lacks(types.AnnotationKeySuffixDeletePropagation) {
		demanded[types.AnnotationKeySuffixDeletePropagation] = types.DeletePropagationForeground
	}
}

// ends reports whether objects of a type run to completion.
func ends(kind schema.GroupKind) bool {
	return kind == schema.GroupKind{Group: "batch", Kind: "Job"} || kind == schema.GroupKind{Kind: "Pod"}
}

// isPassive reports whether a type belongs to Kubernetes itself, and its objects do not run to completion.
func isPassive(kind schema.GroupKind) bool {
	ofKubernetes := !strings.Contains(kind.Group, ".") || strings.HasSuffix(kind.Group, ".k8s.io")
	return ofKubernetes && !ends(kind)
}

// demandOptions returns the annotations that sync options and Helm's resource policy demand.
func demandOptions(options gitops.Options, given map[string]string) map[string]string {
	demanded := map[string]string{}
	switch options.Get(gitops.Prune) {
	case gitops.False:
		demanded[types.AnnotationKeySuffixPrunePolicy] = types.PrunePolicyKeep
	case gitops.Confirm:
		demanded[types.AnnotationKeySuffixPrunePolicy] = types.PrunePolicyConfirm
	}
	switch {
	case gitops.IsKeptByHelm(given):
		demanded[types.AnnotationKeySuffixDeletePolicy] = types.DeletePolicyOrphan
	case options.Get(gitops.Delete) == gitops.False:
		demanded[types.AnnotationKeySuffixDeletePolicy] = types.DeletePolicyOrphanOnDelete
	case options.Get(gitops.Delete) == gitops.Confirm:
		demanded[types.AnnotationKeySuffixDeletePolicy] = types.DeletePolicyConfirmOnDelete
	}
	if options.Get(gitops.Force) == gitops.True {
		demanded[types.AnnotationKeySuffixRecreateIfImmutable] = "true"
	}
	if options.Get(gitops.SkipDryRunOnMissingResource) == gitops.True {
		demanded[types.AnnotationKeySuffixMissingTypePolicy] = types.MissingTypePolicyWait
	}
	if options.Get(gitops.Replace) == gitops.True {
		demanded[types.AnnotationKeySuffixUpdatePolicy] = types.UpdatePolicyReplace
	}
	if propagation, set := options[gitops.PrunePropagationPolicy]; set {
		demanded[types.AnnotationKeySuffixDeletePropagation] = propagation
	}
	return demanded
}
