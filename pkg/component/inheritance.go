// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/component-operator/runtime/internal/chunks"
	"github.com/component-operator/runtime/internal/renames"
	"github.com/component-operator/runtime/pkg/component/internal/outcomes"
	"github.com/component-operator/runtime/pkg/component/internal/targets"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/types"
)

// Two things are inherited: components of the predecessor of this SDK, and those of a reconciler that had another name.

// The predecessor of this SDK computes digests of components in another way, so its digests and ours cannot be compared. That alone must not cause a
// new revision, which would run the upgrade hooks of charts again.

// inheritance is what happens to the status of a component that the predecessor has processed.
type inheritance struct{ pass *pass }

// isAwaited reports whether status.observedGeneration must stay as the predecessor has recorded it, because settle still depends on it.
func (p inheritance) isAwaited() bool {
	return p.pass.record.Inherited && !p.pass.deleting && !p.pass.settings.suspended
}

// settle keeps the revision of a component that the predecessor has processed, if the component has not changed since. What has changed in
// references, or in the generator, is applied without a new revision.
func (p inheritance) settle() {
	if !p.pass.record.Inherited {
		return
	}
	p.pass.record.Inherited = false
	status := p.pass.status
	isProcessed := status.LastProcessingDigest == status.ProcessingDigest || status.LastProcessingDigest == "" && status.LastAppliedAt != nil
	if isProcessed && status.ObservedGeneration == p.pass.component.GetGeneration() {
		status.ProcessingDigest = p.pass.declared.Digest.Value
		status.LastProcessingDigest = p.pass.declared.Digest.Value
	}
	if p.pass.record.IsKept() {
		status.ObservedGeneration = p.pass.component.GetGeneration()
	}
}

// renaming replaces the marks of former names of the reconciler: on the component, on the objects beside it, and on dependents. An annotation of the component says that
// this was done.
type renaming struct{ pass *pass }

func (r renaming) names() renames.Names {
	w := r.pass.worker
	return renames.Names{Former: w.options.FormerNames, Name: w.name, FieldOwner: *w.options.FieldOwner, Finalizers: w.options.finalizers()}
}

// annotation returns the key and the value of the annotation that ends the renaming.
func (r renaming) annotation() (key, value string) {
	return r.pass.worker.name + "/" + types.AnnotationKeySuffixFormerNames, strings.Join(r.pass.worker.options.FormerNames, ",")
}

func (r renaming) isNeeded() bool {
	key, value := r.annotation()
	return value != "" && r.pass.component.GetAnnotations()[key] != value
}

// run replaces all marks of former names, and ends the pass: the next one finds the new ones. A paused component stays as it is.
func (r renaming) run(ctx context.Context) outcomes.Outcome {
	target := r.pass.destination.Target()
	if !r.isNeeded() || target == nil || !r.pass.deleting && r.pass.settings.presence == PresencePaused {
		return outcomes.Proceed
	}
	if err := r.dependents(ctx, target.Engine); err != nil {
		return r.pass.destination.Unreachable(ctx, err)
	}
	if err := r.stores(ctx); err != nil {
		return outcomes.Of(err)
	}
	changes := r.names().Annotations(r.pass.component.GetAnnotations())
	if len(r.pass.record.Unlisted()) == 0 {
		// Otherwise, there may be dependents that are found later.
		key, value := r.annotation()
		changes[key] = value
	}
	if len(changes) == 0 {
		return outcomes.Proceed
	}
	if err := r.pass.handle.AnnotateAll(ctx, changes); err != nil {
		return outcomes.Of(fmt.Errorf("renaming the annotations of the component: %w", err))
	}
	return outcomes.Outcome{Kind: outcomes.Abandoned, Message: "the marks of former names of the reconciler were replaced"}
}

// dependents renames the marks of all dependents, hooks included, and records what that changes.
func (r renaming) dependents(ctx context.Context, engine targets.Engine) error {
	owner, applied := r.pass.owner(), r.pass.deletionHooks.Applied()
	if deletion(r).dependentsGone() {
		// The inventory does not shrink during a deletion.
		owner.Inventory = nil
	} else if err := r.pass.rebuild(ctx, nil); err != nil {
		return err
	} else {
		owner.Inventory = r.pass.status.Inventory
	}
	own := len(owner.Inventory)
	owner.Inventory = slices.Concat(owner.Inventory, applied)
	renamed, err := engine.Rename(ctx, reconciler.RenameRequest{Owner: owner, FormerNames: r.pass.worker.options.FormerNames})
	if own > 0 {
		r.pass.status.Inventory = renamed[:own]
	}
	if len(applied) > 0 {
		r.pass.status.DeletionHooks.Inventory = renamed[own:]
	}
	return errors.Join(err, r.pass.record.SaveInventory(ctx, r.pass.status.Inventory))
}

// stores renames the marks of the ConfigMaps and Secrets beside the component.
func (r renaming) stores(ctx context.Context) error {
	var recorded []string
	if record := r.pass.status.InventoryRecord; record != nil {
		recorded = append(recorded, record.Namespace, record.PreviousNamespace)
	}
	if hooks := r.pass.status.DeletionHooks; hooks != nil {
		recorded = append(recorded, hooks.Namespace, hooks.PreviousNamespace)
	}
	for _, kind := range []chunks.Kind{chunks.ConfigMap, chunks.Secret} {
		if err := storesOf(r.pass).Rename(ctx, kind, r.names(), recorded...); err != nil {
			return err
		}
	}
	return nil
}
