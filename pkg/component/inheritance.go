// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"context"
	"fmt"
	"strings"

	"github.com/component-operator/runtime/internal/chunks"
	"github.com/component-operator/runtime/internal/renames"
	"github.com/component-operator/runtime/pkg/component/internal/outcomes"
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

// component renames the annotations of the component, and the ConfigMaps and Secrets beside it, which must be recognized before they are read.
func (r renaming) component(ctx context.Context) outcomes.Outcome {
	if !r.isNeeded() {
		return outcomes.Proceed
	}
	if changes := r.names().Keys(r.pass.component.GetAnnotations()); len(changes) > 0 {
		if err := r.pass.handle.AnnotateAll(ctx, changes); err != nil {
			return outcomes.Of(fmt.Errorf("renaming the annotations of the component: %w", err))
		}
	}
	var recorded []string
	if record := r.pass.status.InventoryRecord; record != nil {
		recorded = append(recorded, record.Namespace, record.PreviousNamespace)
	}
	if hooks := r.pass.status.DeletionHooks; hooks != nil {
		recorded = append(recorded, hooks.Namespace, hooks.PreviousNamespace)
	}
	for _, kind := range []chunks.Kind{chunks.ConfigMap, chunks.Secret} {
		if err := storesOf(r.pass).Rename(ctx, kind, r.names(), recorded...); err != nil {
			return outcomes.Of(err)
		}
	}
	return outcomes.Proceed
}

// dependents renames the marks of all dependents, hooks included. The inventory must be complete.
func (r renaming) dependents(ctx context.Context) error {
	if !r.isNeeded() || r.pass.record.Gap() != "" {
		return nil
	}
	applied := r.pass.deletionHooks.Applied()
	owner := r.pass.owner()
	owner.Inventory = append(owner.Inventory[:len(owner.Inventory):len(owner.Inventory)], applied...)
	renamed, err := r.pass.destination.Target().Engine.Rename(ctx, reconciler.RenameRequest{Owner: owner, FormerNames: r.pass.worker.options.FormerNames})
	if err != nil {
		return err
	}
	r.pass.status.Inventory = renamed[:len(renamed)-len(applied)]
	if hooks := r.pass.status.DeletionHooks; hooks != nil && len(applied) > 0 {
		hooks.Inventory = renamed[len(renamed)-len(applied):]
	}
	key, value := r.annotation()
	if err := r.pass.handle.Annotate(ctx, key, value); err != nil {
		return fmt.Errorf("recording that the marks of former names are replaced: %w", err)
	}
	return nil
}
