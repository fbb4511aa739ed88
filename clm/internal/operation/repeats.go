// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"context"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/component-operator/runtime/clm/internal/dependents"
	"github.com/component-operator/runtime/pkg/reconciler"
)

// noteRepeats notes which hooks would run again although their manifests are the same as in the current revision. The engine does not know that of hooks that an installation has
// run, or a rollback has left as they were: it records nothing of the content of an object that is applied once. If the manifest of the current revision is lost, nothing is noted.
func (k *keeper) noteRepeats(ctx context.Context, p *Plan) error {
	hooks := k.ranOnce(p)
	if len(hooks) == 0 {
		return nil
	}
	last, err := k.last.hooks(ctx)
	if err != nil {
		return err
	}
	before, now := k.hooks(last), k.hooks(p.Content.Manifest)
	for _, change := range hooks {
		key := k.rules.KeyOf(change.Object)
		change.Repeats = before[key] != nil && equality.Semantic.DeepEqual(before[key], now[key])
	}
	return nil
}

// ranOnce returns the changes of a plan about objects that were applied once, and are applied again now.
func (k *keeper) ranOnce(p *Plan) []*reconciler.Change {
	once := map[dependents.Key]bool{}
	for _, item := range p.Release.Inventory {
		once[dependents.KeyOf(item)] = item.ReconcilePolicy == reconciler.ReconcilePolicyOnce && isDone(item)
	}
	var changes []*reconciler.Change
	for i := range p.Changes {
		change := &p.Changes[i]
		if (change.Verb == reconciler.VerbCreated || change.Verb == reconciler.VerbUpdated) && once[dependents.KeyOf(change.Object)] {
			changes = append(changes, change)
		}
	}
	return changes
}

// hooks returns the hooks of Helm among the objects of a manifest, without the annotation that says when they run again: that differs between installations and upgrades.
func (k *keeper) hooks(objects []*unstructured.Unstructured) map[dependents.Key]*unstructured.Unstructured {
	hooks := map[dependents.Key]*unstructured.Unstructured{}
	for _, object := range objects {
		if IsRegular(object) && isHelmHook(object) {
			hook := object.DeepCopy()
			unstructured.RemoveNestedField(hook.Object, "metadata", "annotations", reconcilePolicyKey)
			hooks[k.rules.KeyOf(object)] = hook
		}
	}
	return hooks
}

// isDone reports whether a dependent is ready or has completed.
func isDone(item *reconciler.InventoryItem) bool {
	return item.Phase == reconciler.PhaseReady || item.Phase == reconciler.PhaseCompleted
}
