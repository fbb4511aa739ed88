// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"context"
	"errors"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"
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

// HookTransformer expresses the annotations by which other tools order and repeat objects in those of the reconciler.
// It is [Pure], and needs the context of the generation.
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
// with several phases becomes an object for each: the first one has the name, and the others have names such as
// "migrate-postsync". An object that others use, such as a ServiceAccount, is applied once for all its phases. A hook
// with generateName, or without any name, gets a name that depends on its manifest, its phase, the component and the
// revision of the component. A Namespace or a CustomResourceDefinition that has a later wave than an object that needs
// it is moved to the wave of that object.
//
// PruneLast=true, ServerSideApply=true, ApplyOutOfSyncOnly=true and RespectIgnoreDifferences=true need nothing: it is
// always so. Refused are: ServerSideApply=false, and values that Argo CD does not know and would ignore. Other options
// cause a warning.
//
// If an object has hooks of both tools, those of Argo CD win. If it has a hook of Helm and no hook of Argo CD, its
// order is that of Helm. An object that Helm would leave behind (helm.sh/resource-policy: keep) has delete-policy
// orphan.
type HookTransformer struct {
	argo, helm bool
}

var (
	_ ContextObjectTransformer = &HookTransformer{}
	_ Pure                     = &HookTransformer{}
)

// NewHookTransformer returns a transformer that reads the annotations of the given tools: at least one.
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

// Fingerprint covers the tools. Its version must change with what annotations become.
func (t *HookTransformer) Fingerprint() string {
	return fmt.Sprintf("hooks/3 argocd=%t helm=%t", t.argo, t.helm)
}

// TransformObjects always fails, because the context is missing.
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
