// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package prepare

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/component-operator/runtime/internal/observe"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/types"
)

// ofHook returns the policies of an owner as they hold for a hook: it is applied again whenever the owner changes, and
// what runs to completion is deleted and created then.
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

// takePlace moves a hook behind all other objects. Unless an annotation says otherwise, it is deleted before them, and
// so is an object whose type others define, because they may have to do something before it is gone.
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
