// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package records

import (
	"context"
	"fmt"

	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/chunks"
	"github.com/component-operator/runtime/internal/deletionhooks"
	"github.com/component-operator/runtime/internal/manifest"
	"github.com/component-operator/runtime/pkg/component/internal/outcomes"
	"github.com/component-operator/runtime/pkg/component/internal/resource"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/types"
)

// hookField is the field of the status that refers to deletion hooks.
const hookField = "deletionHooks"

// HookMemory is what a process remembers about the deletion hooks of one component. Losing it only costs requests. Only
// one pass uses it at a time. The zero value is ready for use.
type HookMemory struct {
	// stored are the hooks as they are stored; nil if they are not known.
	stored *storedHooks
}

type storedHooks struct {
	// version is that of the generator's result with these hooks; empty if it is not known.
	version  string
	checksum string
	hooks    []deletionhooks.Hook
}

// Hooks are the deletion hooks of a component during one pass.
type Hooks struct {
	memory *HookMemory
	handle *resource.Handle
	record *Record
	stores *Stores
	// field is the field of the status that refers to hooks.
	field **inventory.DeletionHooks
	// releasing reports whether dependents are orphaned instead of deleted. Deletion hooks are skipped then.
	releasing func() bool
}

// OpenHooks returns the deletion hooks of a component for one pass. The record writes their part of the status.
func OpenHooks(memory *HookMemory, record *Record, stores *Stores, field **inventory.DeletionHooks, releasing func() bool) *Hooks {
	return &Hooks{memory: memory, handle: stores.Handle, record: record, stores: stores, field: field, releasing: releasing}
}

// Record stores deletion hooks beside the component, and makes the status refer to them. Equal versions mean equal
// hooks; an empty version is never equal. With a key, the content cannot be guessed from the checksum in the status.
func (h *Hooks) Record(ctx context.Context, hooks []deletionhooks.Hook, version string, key []byte) error {
	reference := *h.field
	if len(hooks) == 0 && reference == nil {
		return h.dropProof(ctx)
	}
	recorded := h.recorded()
	if known := h.memory.stored; len(hooks) > 0 && known != nil && version != "" && known.version == version && known.checksum == recorded {
		if err := h.prove(ctx, recorded); err != nil {
			return err
		}
		return h.checkKept(len(hooks))
	}
	contents, err := encode(hooks, key)
	if err != nil {
		return err
	}
	checksum := chunks.Checksum(contents)
	if checksum != recorded || len(hooks) == 0 {
		if err := h.replace(ctx, contents, len(hooks)); err != nil {
			return err
		}
	} else if err := h.prove(ctx, checksum); err != nil {
		return err
	}
	h.memory.stored = &storedHooks{version: version, checksum: checksum, hooks: hooks}
	return h.checkKept(len(hooks))
}

// recorded returns the checksum of the recorded hooks; empty if there are none, or if they are in a namespace that is
// not trusted.
func (h *Hooks) recorded() string {
	if reference := h.reference(); h.stores.Trusts(reference.Namespace) {
		return reference.Checksum
	}
	return ""
}

// reference returns the status's reference to hooks; zero if there is none.
func (h *Hooks) reference() inventory.DeletionHooks {
	return ptr.Deref(*h.field, inventory.DeletionHooks{})
}

// checkKept returns an error if the server has dropped the reference to the hooks from the status.
func (h *Hooks) checkKept(count int) error {
	if count == 0 || *h.field == nil || h.handle.Stored(hookField) != nil {
		return nil
	}
	return &reconciler.RefusedError{Problems: []string{fmt.Sprintf(
		"%s: status.deletionHooks: deletion hooks (%d) cannot be recorded, because the component's CustomResourceDefinition lacks this field; update it",
		h.handle.Name(), count)}}
}

// chunkSize is the average size of the manifests in one Secret, in bytes of JSON.
const chunkSize = 512 << 10

// saltedHook is the stored form of a hook. The status has a checksum of the stored hooks, and Secrets are named after
// their content; the salt keeps readers of both from guessing the content.
type saltedHook struct {
	deletionhooks.Hook `json:",inline"`
	Salt               string `json:"salt,omitempty"`
}

// encode returns the contents of the Secrets. Without a key there is no salt.
func encode(hooks []deletionhooks.Hook, key []byte) ([][]byte, error) {
	if len(hooks) == 0 {
		return nil, nil
	}
	salt := ""
	if len(key) > 0 {
		salt = manifest.Keyed(key, "deletion hooks")
	}
	salted := make([]saltedHook, len(hooks))
	for i, hook := range hooks {
		salted[i] = saltedHook{Hook: hook, Salt: salt}
	}
	items, err := chunks.Encode(salted, func(hook saltedHook) string { return hook.Hook.Hook + "/" + outcomes.Name(hook.Object) })
	if err != nil {
		return nil, fmt.Errorf("encoding deletion hooks: %w", err)
	}
	return chunks.Spread(items, 0, chunkSize), nil
}

// replace writes new Secrets, then the annotation that confirms them, then the status, and then removes the Secrets
// that the status no longer refers to.
func (h *Hooks) replace(ctx context.Context, contents [][]byte, count int) error {
	recorded := *h.field
	namespace := h.stores.Namespace()
	if count > 0 && namespace == "" {
		return &reconciler.RefusedError{Problems: []string{
			h.handle.Name() + ": deletion hooks of cluster-scoped components require the operator's option StateNamespace",
		}}
	}
	var stale chunks.Handles
	if recorded != nil {
		var err error
		if stale, err = h.list(ctx); err != nil {
			return fmt.Errorf("looking for deletion hooks: %w", err)
		}
	} else if err := h.refer(ctx, inventory.DeletionHooks{Namespace: namespace, Secrets: []string{}, Checksum: chunks.Checksum(nil)}); err != nil {
		return err
	}
	if err := h.checkKept(count); err != nil {
		return err
	}
	written, err := h.stores.Of(chunks.Secret).Write(ctx, contents, nil)
	if err != nil {
		return fmt.Errorf("recording deletion hooks: %w", err)
	}
	names := append([]string{}, written.Names...)
	next := inventory.DeletionHooks{Namespace: namespace, Secrets: names, Checksum: chunks.Checksum(contents), Objects: count}
	if err := h.refer(ctx, next); err != nil {
		return err
	}
	for _, name := range names {
		delete(stale, name)
	}
	complete, err := h.stores.Of(chunks.Secret).Remove(ctx, stale)
	switch {
	case err != nil || !complete:
		h.handle.Log.Info("outdated deletion hooks are left for a later pass", "error", err)
	case count == 0:
		*h.field = nil
	}
	return nil
}

// refer writes the reference into the status. Before, the annotation confirms it.
func (h *Hooks) refer(ctx context.Context, next inventory.DeletionHooks) error {
	if next.Objects > 0 {
		if err := h.prove(ctx, next.Checksum); err != nil {
			return err
		}
	}
	previous := *h.field
	*h.field = &next
	if err := h.record.SaveStatus(ctx); err != nil {
		*h.field = previous
		return err
	}
	if next.Objects > 0 {
		return nil
	}
	return h.dropProof(ctx)
}

// read reads the stored hooks. damage is the reason why they cannot be used; a retry does not help then.
func (h *Hooks) read(ctx context.Context) (hooks []deletionhooks.Hook, damage string, err error) {
	reference := *h.field
	if known := h.memory.stored; known != nil && known.checksum == reference.Checksum {
		return known.hooks, "", nil
	}
	if damage := h.lacksProof(); damage != "" {
		return nil, damage, nil
	}
	list := chunks.List{Items: reference.Objects, Checksum: reference.Checksum, Chunks: reference.Secrets}
	if err := h.stores.CheckNamespace("status.deletionHooks.namespace", reference.Namespace); err != nil && len(list.Chunks) > 0 {
		return nil, err.Error(), nil
	}
	found, err := h.stores.Of(chunks.Secret).Load(ctx, list)
	if err != nil {
		return nil, "", fmt.Errorf("reading deletion hooks: %w", err)
	}
	if hooks = chunks.Decode(&found, list, deletionhooks.Hook.Check); len(found.Damage) > 0 {
		return nil, outcomes.Join(found.Damage, "; "), nil
	}
	h.memory.stored = &storedHooks{checksum: reference.Checksum, hooks: hooks}
	return hooks, "", nil
}

// list finds all Secrets with deletion hooks.
func (h *Hooks) list(ctx context.Context) (chunks.Handles, error) {
	return h.stores.List(ctx, chunks.Secret, h.reference().Namespace)
}

// Remove deletes the Secrets with hooks, and reports whether none is left. It first records that they are no longer
// needed.
func (h *Hooks) Remove(ctx context.Context) (complete bool, err error) {
	reference := *h.field
	if reference == nil && !h.record.IsLost() {
		return true, nil
	}
	if reference != nil {
		reference.Stage = inventory.DeletionStageDone
		if err := h.record.SaveStatus(ctx); err != nil {
			return false, fmt.Errorf("recording that deletion hooks are done: %w", err)
		}
	}
	return h.stores.RemoveAll(ctx, chunks.Secret, h.reference().Namespace)
}

// Reached reports whether the deletion has reached a stage, or passed it.
func (h *Hooks) Reached(stage inventory.DeletionStage) bool {
	return h.reference().Stage.Reached(stage)
}

// Awaited reports whether any hooks are still to be applied or awaited.
func (h *Hooks) Awaited() bool {
	return h.reference().Objects > 0 && !h.Reached(inventory.DeletionStagePostDeleteCleanup) && !h.skipped()
}

// Applied returns the hooks that exist: applied, and not yet removed.
func (h *Hooks) Applied() []*reconciler.InventoryItem {
	return h.reference().Inventory
}

// Step applies the hooks of a time, waits until all are ready, and removes them. The runner has the engine, the owner
// and its policies. The error is the runner's.
func (h *Hooks) Step(ctx context.Context, at deletionhooks.Time, runner deletionhooks.Runner) (outcomes.Outcome, error) {
	reference := *h.field
	if reference == nil {
		return outcomes.Proceed, nil
	}
	wanted, o := h.wanted(ctx, at)
	if o.Kind != outcomes.Continue {
		return o, nil
	}
	runner.Save = func(ctx context.Context, state deletionhooks.State) error {
		h.take(state)
		return h.record.SaveStatus(ctx)
	}
	runner.LeftOut = func(hooks []reconciler.Notice) {
		h.handle.Warn("HooksSkipped", at.String()+" hooks can no longer be applied: "+outcomes.Notices(hooks))
	}
	progress, err := runner.Step(ctx, at, deletionhooks.State{Stage: reference.Stage, Inventory: reference.Inventory}, wanted)
	h.take(progress.State)
	if err != nil {
		return outcomes.Proceed, err
	}
	return h.outcomeOf(at, progress), nil
}

// outcomeOf returns the outcome for the progress of the hooks of a time.
func (h *Hooks) outcomeOf(at deletionhooks.Time, progress deletionhooks.Progress) outcomes.Outcome {
	result := progress.Result
	o := outcomes.Outcome{Kind: outcomes.Deleting, Wake: result.RequeueAfter}
	switch {
	case progress.Done:
		return outcomes.Proceed
	case progress.Doing == deletionhooks.Clearing:
		o.Message = fmt.Sprintf("before %s hooks: %s", at, outcomes.Waves(nil).Waits(result, "deleted"))
	case progress.Doing == deletionhooks.Removing:
		o.Message = fmt.Sprintf("%s hooks are done; %s", at, outcomes.Waves(nil).Waits(result, "deleted"))
	case len(result.Failures) > 0:
		o.Kind = outcomes.Failed
		o.Message = fmt.Sprintf("%s hooks: %s; to run a failed hook again, delete its object; %s", at, outcomes.Failures(result), h.skipAdvice())
	default:
		o.Message = fmt.Sprintf("%s hooks: %s", at, outcomes.Waves(nil).Waits(result, "ready"))
	}
	return o
}

// take records the progress of the deletion.
func (h *Hooks) take(state deletionhooks.State) {
	reference := *h.field
	reference.Stage, reference.Inventory = state.Stage, state.Inventory
}

// wanted returns the hooks of a time that are still to be applied or awaited; none if they are skipped.
func (h *Hooks) wanted(ctx context.Context, at deletionhooks.Time) ([]client.Object, outcomes.Outcome) {
	if !at.Wants((*h.field).Stage) {
		return nil, outcomes.Proceed
	}
	if h.skipped() {
		h.handle.Warn("HooksSkipped", at.String()+" hooks are skipped, "+h.whySkipped())
		return nil, outcomes.Proceed
	}
	stored, damage, err := h.read(ctx)
	if damage != "" {
		return nil, h.lost(damage)
	}
	return deletionhooks.At(at, stored), outcomes.Of(err)
}

func (h *Hooks) lost(damage string) outcomes.Outcome {
	return outcomes.Retry("deletion hooks cannot be run: "+damage+"; "+h.skipAdvice(), outcomes.MissingDelay)
}

// CheckLost looks for hooks that an emptied status no longer refers to.
func (h *Hooks) CheckLost(ctx context.Context) outcomes.Outcome {
	found, err := h.list(ctx)
	switch {
	case err != nil:
		return outcomes.Of(fmt.Errorf("looking for deletion hooks: %w", err))
	case len(found) == 0:
	case h.skipped():
		h.handle.Warn("HooksSkipped", "deletion hooks are skipped, "+h.whySkipped())
	default:
		return h.lost("the status was empty")
	}
	return outcomes.Proceed
}

// skipped reports whether hooks are skipped. Hooks prepare, or follow, the deletion of dependents, not their orphaning.
func (h *Hooks) skipped() bool {
	return h.releasing() || h.handle.IsAnnotated(types.AnnotationKeySuffixSkipDeletionHooks)
}

func (h *Hooks) whySkipped() string {
	if h.releasing() {
		return "because dependents are orphaned, not deleted"
	}
	return "because of the annotation " + h.handle.AnnotationKey(types.AnnotationKeySuffixSkipDeletionHooks)
}

func (h *Hooks) skipAdvice() string {
	return fmt.Sprintf("to skip deletion hooks, set the annotation %s to \"true\"", h.handle.AnnotationKey(types.AnnotationKeySuffixSkipDeletionHooks))
}
