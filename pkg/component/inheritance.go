// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/chunks"
	"github.com/component-operator/runtime/internal/renames"
	"github.com/component-operator/runtime/pkg/component/internal/outcomes"
	"github.com/component-operator/runtime/pkg/component/internal/texts"
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

// isNeeded reports whether there may be something of a former name. An operator with such a name may have worked since the annotation was set; its finalizer shows that.
func (r renaming) isNeeded() bool {
	switch _, value := r.annotation(); {
	case value == "":
		return false
	case !r.isNoted():
		return true
	case r.pass.deleting:
		// It keeps the finalizers that it has.
		return !r.pass.memory.renamedForDeletion && r.finalizers(r.pass.component) != nil
	default:
		return r.finalizers(r.pass.component) != nil
	}
}

// isNoted reports whether the annotation is set.
func (r renaming) isNoted() bool {
	key, value := r.annotation()
	return r.pass.component.GetAnnotations()[key] == value
}

// finalizers returns those that a component gets in place of the ones that it has; nil if they stay.
func (r renaming) finalizers(component client.Object) []string {
	present := component.GetFinalizers()
	if renamed := r.names().Renames(present); !slices.Equal(renamed, present) {
		return renamed
	}
	return nil
}

// component replaces what the component itself has of former names, and ends the pass then: the next one finds the present ones.
func (r renaming) component(ctx context.Context) outcomes.Outcome {
	if !r.isNeeded() || r.isNoted() && r.pass.deleting {
		return outcomes.Proceed
	}
	done, _ := r.annotation()
	changed, err := r.pass.handle.ChangeMetadata(ctx, func(component client.Object) map[string]any {
		metadata := map[string]any{}
		annotations := r.names().Annotations(component.GetAnnotations())
		if _, exists := component.GetAnnotations()[done]; exists {
			annotations[done] = nil
		}
		if len(annotations) > 0 {
			metadata["annotations"] = annotations
		}
		// While it is being deleted, the API server accepts no others.
		if finalizers := r.finalizers(component); finalizers != nil && !r.pass.deleting {
			metadata["finalizers"] = finalizers
		}
		return metadata
	})
	switch {
	case err != nil:
		return outcomes.Of(fmt.Errorf("replacing former names of the operator in annotations and finalizers of the component: %w", err))
	case changed:
		return outcomes.Outcome{Kind: outcomes.Abandoned, Message: "former names of the operator were replaced in annotations and finalizers of the component"}
	}
	return outcomes.Proceed
}

// stores replaces the marks of former names on the ConfigMaps and Secrets beside the component.
func (r renaming) stores(ctx context.Context) outcomes.Outcome {
	if !r.isNeeded() {
		return outcomes.Proceed
	}
	recorded := map[chunks.Kind][]string{}
	if record := r.pass.status.InventoryRecord; record != nil {
		recorded[chunks.ConfigMap] = []string{record.Namespace, record.PreviousNamespace}
	}
	if hooks := r.pass.status.DeletionHooks; hooks != nil {
		recorded[chunks.Secret] = []string{hooks.Namespace, hooks.PreviousNamespace}
	}
	for _, kind := range []chunks.Kind{chunks.ConfigMap, chunks.Secret} {
		if err := storesOf(r.pass).Rename(ctx, kind, r.names(), recorded[kind]...); err != nil {
			return outcomes.Of(err)
		}
	}
	return outcomes.Proceed
}

// dependents replaces the marks of former names on all dependents, hooks included, and records what that changes. If some of them cannot be changed, the pass goes on, because
// that may be due to something that the pass repairs; the next one tries it again.
func (r renaming) dependents(ctx context.Context) error {
	if !r.isNeeded() {
		return nil
	}
	var failures []string
	var renamed []types.ObjectID
	rename := func(inventory *[]*reconciler.InventoryItem) error {
		done, failed, err := r.items(ctx, inventory)
		renamed, failures = append(renamed, done...), append(failures, failed...)
		return err
	}
	var err error
	if !deletion(r).dependentsGone() {
		// Otherwise, hooks may have the names of dependents that are gone: the inventory does not shrink during a deletion.
		err = rename(&r.pass.status.Inventory)
	}
	if hooks := r.pass.status.DeletionHooks; hooks != nil {
		err = errors.Join(err, rename(&hooks.Inventory))
	}
	if err = errors.Join(err, r.pass.record.SaveInventory(ctx, r.pass.status.Inventory)); err != nil {
		return fmt.Errorf("replacing labels and annotations of former operator names: %w", err)
	}
	// What is not recorded must be looked at again.
	for _, id := range renamed {
		r.pass.memory.renamed[id] = true
	}
	if len(failures) > 0 {
		slices.Sort(failures)
		r.pass.unrenamed = "; labels and annotations of former operator names could not be replaced: " + texts.Join(failures, "; ")
		return nil
	}
	if len(r.pass.record.Unlisted()) > 0 {
		// There may be dependents that are found later.
		return nil
	}
	r.pass.memory.renamed, r.pass.memory.renamedForDeletion = nil, r.pass.deleting
	if r.isNoted() && r.pass.deleting {
		return nil
	}
	key, value := r.annotation()
	return r.pass.handle.Annotate(ctx, key, value)
}

// items replaces the marks on the objects of an inventory, apart from those that an earlier pass has changed. It returns which ones have nothing of a former name any more, and why
// others have.
func (r renaming) items(ctx context.Context, inventory *[]*reconciler.InventoryItem) (renamed []types.ObjectID, failures []string, err error) {
	owner, indices := r.pass.owner(), []int(nil)
	owner.Inventory = nil
	for i, item := range *inventory {
		if !r.pass.memory.renamed[types.IDOf(item)] {
			owner.Inventory, indices = append(owner.Inventory, item), append(indices, i)
		}
	}
	if r.pass.memory.renamed == nil {
		r.pass.memory.renamed = map[types.ObjectID]bool{}
	}
	if len(indices) == 0 {
		return nil, nil, nil
	}
	result, err := r.pass.destination.Target().Engine.Rename(ctx, owner)
	*inventory = slices.Clone(*inventory)
	for i, item := range result.Inventory {
		(*inventory)[indices[i]] = item
		if reason, failed := result.Failures[types.IDOf(item)]; failed {
			failures = append(failures, reason.Error())
		} else if err == nil {
			renamed = append(renamed, types.IDOf(item))
		}
	}
	return renamed, failures, err
}
