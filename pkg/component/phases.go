// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"context"
	"errors"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	"github.com/component-operator/runtime/internal/clients"
	"github.com/component-operator/runtime/pkg/component/internal/items"
	"github.com/component-operator/runtime/pkg/component/internal/texts"
	"github.com/component-operator/runtime/pkg/manifests"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/types"
)

// acknowledge looks at the component for the first time. What it notes in the status is persisted by whoever writes first:
// the engine before it touches the cluster, or the end of the pass.
func (w *worker) acknowledge(_ context.Context, s *scope) outcome {
	if s.deleting && (s.memory.finished || !w.options.finalizers().On(s.component.GetFinalizers())) {
		return outcome{kind: outcomeGone}
	}
	s.settings = settingsOf(s.component)
	now := metav1.NewTime(w.options.Clock.Now())
	first := s.status.ObservedGeneration <= 0
	// What remembers of nothing does not count as observed before its dependents are found; so this is noticed again.
	s.record.lost = first && w.options.finalizers().On(s.component.GetFinalizers()) && len(s.status.Inventory) == 0 && !s.status.hasRecord()
	if !s.record.lost && !s.memory.unkept {
		s.status.ObservedGeneration = s.component.GetGeneration()
	}
	s.status.LastObservedAt = &now
	if first && !s.deleting {
		s.status.setState(verdict{state: StatePending, reason: ReadyConditionReasonNew, message: "first seen"}, now)
	}
	return proceed
}

func (w *worker) checkSuspended(_ context.Context, s *scope) outcome {
	if s.settings.suspended && !s.deleting {
		return outcome{kind: outcomeSuspended, message: "reconciliation is suspended"}
	}
	return proceed
}

// trackProcessing starts a new revision, and the clock of the timeout, if what is declared has changed.
func (w *worker) trackProcessing(_ context.Context, s *scope) outcome {
	if s.deleting {
		return proceed
	}
	s.recognizeDigest()
	if s.digest != s.status.ProcessingDigest {
		if s.status.ProcessingDigest != "" {
			now := metav1.NewTime(w.options.Clock.Now())
			s.status.setState(verdict{state: StateProcessing, reason: ReadyConditionReasonRestarting, message: "what is declared has changed"}, now)
		}
		s.status.ProcessingDigest = s.digest
		s.status.ProcessingSince = nil
		s.memory.refusals = 0
		s.memory.rebuilt = ""
	}
	if s.status.LastAppliedAt != nil {
		// Before there were revisions, the first one had been applied already.
		s.status.Revision = max(s.status.Revision, 1)
		if s.status.InstalledRevision == 0 {
			// Nobody has recorded in which revision that was. It is more likely an earlier one, if there is any.
			s.status.InstalledRevision = max(s.status.Revision-1, 1)
		}
	}
	if s.digest != s.status.LastProcessingDigest {
		s.status.Revision++
		s.status.LastProcessingDigest = s.digest
	}
	return proceed
}

// connectTarget finds out where dependents live.
func (w *worker) connectTarget(ctx context.Context, s *scope) outcome {
	if s.deleting && s.lost == nil && len(s.missing) > 0 && !s.isRemote() && hasForeignTarget(s.component) {
		// Whether the dependents are in this cluster or in another one cannot be told any more.
		s.lost = errors.New(texts.Join(s.missing, "; "))
	}
	if s.lost != nil {
		return w.holdOrLose(s, s.lost)
	}
	id := identityOf(s.component, ptr.Deref(w.options.DefaultServiceAccount, ""))
	if moved, o := w.connectFormer(ctx, s, id); moved || o.kind != outcomeContinue {
		return o
	}
	found, err := w.targets.connect(s.key, s.ownerID, id)
	switch {
	case errors.Is(err, clients.ErrClosed):
		// The operator is about to end, which says nothing about the target.
		return outcome{kind: outcomeAbandoned, message: err.Error()}
	case err != nil && s.deleting:
		return w.holdOrLose(s, err)
	case err != nil:
		return outcome{kind: outcomeRefused, message: "connecting to the cluster of the dependents: " + err.Error()}
	}
	s.target = found
	return proceed
}

// holdOrLose goes on with the connection that is held, if there is one; otherwise the target is lost.
func (w *worker) holdOrLose(s *scope, reason error) outcome {
	if w.holdTarget(s) {
		return proceed
	}
	return w.loseTarget(s, reason)
}

func (w *worker) ensureFinalizer(ctx context.Context, s *scope) outcome {
	return outcomeOf(w.changeFinalizers(ctx, s, w.options.finalizers().With))
}

func (w *worker) afterRead(ctx context.Context, s *scope) outcome {
	return runHooks(NewContext(ctx).WithReconcilerName(w.name), s, "post-read", w.hooks.postRead)
}

func (w *worker) beforeReconcile(ctx context.Context, s *scope) outcome {
	return runHooks(w.hookContext(ctx, s), s, "pre-reconcile", w.hooks.preReconcile)
}

func (w *worker) afterReconcile(ctx context.Context, s *scope) outcome {
	return runHooks(w.hookContext(ctx, s), s, "post-reconcile", w.hooks.postReconcile)
}

func (w *worker) beforeDelete(ctx context.Context, s *scope) outcome {
	if s.orphaning {
		return proceed
	}
	return runHooks(w.hookContext(ctx, s), s, "pre-delete", w.hooks.preDelete)
}

func (w *worker) hookContext(ctx context.Context, s *scope) Context {
	result := NewContext(ctx).WithReconcilerName(w.name).WithLocalClient(w.local)
	if s.target != nil {
		result = result.WithClient(s.target.client)
	}
	return result
}

func runHooks(ctx context.Context, s *scope, kind string, hooks []hook) outcome {
	for i, run := range hooks {
		if err := run(ctx, s.component); err != nil {
			return outcomeOf(fmt.Errorf("running %s hook (%d): %w", kind, i, err))
		}
	}
	return proceed
}

func (w *worker) owner(s *scope) reconciler.Owner {
	owner := reconciler.Owner{
		ID:                     s.ownerID,
		Namespace:              s.settings.namespace,
		Inventory:              s.status.Inventory,
		Store:                  &statusStore{worker: w, scope: s},
		Home:                   w.home(s),
		AdditionalManagedTypes: s.settings.managedTypes,
		Fence:                  s.mayWrite,
		Confirm:                func(ctx context.Context) error { return w.stillWants(ctx, s) },
	}
	if !s.isElsewhere(w.clusterID) {
		owner.Self = w.metadataOnly(s)
	}
	return owner
}

// home returns the namespaces without which the component, or what is kept beside it, cannot be: if dependents are in another cluster, none of
// theirs.
func (w *worker) home(s *scope) []string {
	if s.isElsewhere(w.clusterID) {
		return nil
	}
	var namespaces []string
	for _, namespace := range []string{s.key.Namespace, w.options.StateNamespace, recordNamespace(s.status)} {
		if namespace != "" && !slices.Contains(namespaces, namespace) {
			namespaces = append(namespaces, namespace)
		}
	}
	return namespaces
}

// recordNamespace returns where chunks are, or were, kept; empty if nowhere.
func recordNamespace(status *Status) string {
	if status.InventoryRecord == nil {
		return ""
	}
	return status.InventoryRecord.Namespace
}

// applyTarget generates the dependents and brings them into the cluster.
func (w *worker) applyTarget(ctx context.Context, s *scope) outcome {
	generated, err := w.generate(ctx, s)
	if err != nil {
		return outcomeOf(fmt.Errorf("generating dependents: %w", err))
	}
	if err := w.rebuild(ctx, s, generated.objects); err != nil {
		return outcomeOf(err)
	}
	if err := w.recordHooks(ctx, s, generated.hooks, generated.version()); err != nil {
		return outcomeOf(err)
	}
	result, err := s.target.engine.Apply(ctx, reconciler.ApplyRequest{
		Owner:        w.owner(s),
		Objects:      generated.objects,
		Version:      generated.version(),
		Digest:       s.digest,
		FormerDigest: s.digestKey.former,
		DigestKey:    s.digestKey.secret,
		Policies:     s.settings.policies,
	})
	w.took(s, &result)
	switch {
	case err != nil:
		return outcomeOf(err)
	case len(result.Failures) > 0:
		return outcome{kind: outcomeFailed, message: failureMessage(result), wake: result.RequeueAfter}
	case !result.Done:
		return outcome{kind: outcomeProgressing, message: texts.Waits(result, "ready") + driftMessage(result), wake: result.RequeueAfter}
	}
	return proceed
}

// took takes over what the engine has done, whether it came to an end or not.
func (w *worker) took(s *scope, result *reconciler.Result) {
	s.result, s.engaged = result, true
	s.status.Inventory = result.Inventory
	w.announceResult(s)
	if definesTypes(*result) {
		// What generators know about the types of the cluster is outdated.
		manifests.InvalidateDiscovery(s.target.client)
	}
}

// definesTypes reports whether types came or went.
func definesTypes(result reconciler.Result) bool {
	return slices.ContainsFunc(result.Actions, func(action reconciler.Action) bool {
		return slices.ContainsFunc(action.Objects, func(object types.ObjectKey) bool {
			group := object.GetObjectKind().GroupVersionKind().Group
			return group == "apiextensions.k8s.io" || group == "apiregistration.k8s.io"
		})
	})
}

func (w *worker) markReady(_ context.Context, s *scope) outcome {
	now := metav1.NewTime(w.options.Clock.Now())
	s.status.AppliedGeneration = s.component.GetGeneration()
	s.status.LastAppliedAt = &now
	if s.status.InstalledRevision == 0 {
		s.status.InstalledRevision = s.status.Revision
	}
	return outcome{kind: outcomeReady, message: w.readyMessage(s), wake: s.result.RequeueAfter}
}

func (w *worker) readyMessage(s *scope) string {
	message := "there are no dependents"
	switch count := len(s.status.Inventory); count {
	case 0:
	case 1:
		message = "1 dependent is ready"
	default:
		message = texts.Dependents(count) + " are ready"
	}
	if s.result != nil {
		message += driftMessage(*s.result)
	}
	if unwatched := w.unwatched(s); len(unwatched) > 0 {
		message += "; looked at only now and then, because they cannot be watched: " + texts.Join(unwatched, ", ")
	}
	return message
}

// unwatched names what the component depends on and cannot be watched, usually for lack of permission.
func (w *worker) unwatched(s *scope) []string {
	kinds := map[string]bool{}
	for _, kind := range items.Kinds(s.status.Inventory) {
		kinds[schema.GroupKind{Group: kind.Group, Kind: kind.Kind}.String()] = true
	}
	return append(s.target.unwatched(kinds), w.references.Unwatched(s.key)...)
}

func failureMessage(result reconciler.Result) string {
	return texts.Dependents(len(result.Failures)) + " failed: " + texts.Notices(result.Failures)
}

func driftMessage(result reconciler.Result) string {
	if len(result.Drift) == 0 {
		return ""
	}
	return fmt.Sprintf("; %d changed by others: %s", len(result.Drift), texts.Notices(result.Drift))
}
