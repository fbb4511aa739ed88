// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/component-operator/runtime/internal/conflicts"
	"github.com/component-operator/runtime/pkg/component/internal/texts"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/types"
)

// loseTarget decides what becomes of a component that is being deleted while its target is out of reach.
func (w *worker) loseTarget(s *scope, reason error) outcome {
	switch {
	case len(s.leftBehind()) == 0 && s.record.gap == "" && !w.awaitsHooks(s):
		// Nothing was ever deployed, so that nothing can be left behind.
		s.log.Info("the cluster of the dependents cannot be reached, but there are no dependents", "reason", reason.Error())
		return proceed
	case w.isAbandoned(s):
		w.abandon(s, reason)
		return proceed
	default:
		content := texts.Dependents(len(s.leftBehind()))
		if s.record.gap != "" {
			content = "dependents that are not known, because " + s.record.gap + ","
		}
		if w.awaitsHooks(s) {
			content += ", and with deletion hooks that are not over,"
		}
		message := fmt.Sprintf("the cluster with %s cannot be reached: %s; restore the access, or set the annotation %s to \"true\" to leave what is there behind",
			content, reason, w.abandonAnnotation())
		return outcome{kind: outcomeRetriable, message: message, retryAfter: new(missingReferenceDelay)}
	}
}

func (w *worker) abandonAnnotation() string {
	return w.name + "/" + types.AnnotationKeySuffixAbandonTarget
}

func (w *worker) isAbandoned(s *scope) bool {
	return s.component.GetAnnotations()[w.abandonAnnotation()] == "true"
}

// abandon gives up on the dependents and says which ones stay behind.
func (w *worker) abandon(s *scope, reason error) {
	s.target, s.abandoned = nil, true
	left := s.leftBehind()
	names := make([]string, len(left))
	for i, item := range left {
		names[i] = texts.Name(item)
	}
	slices.Sort(names)
	s.log.Info("dependents are left behind", "reason", reason.Error(), "dependents", names)
	w.events.Event(w.metadataOnly(s), corev1.EventTypeWarning, "Abandoned",
		texts.Bound(fmt.Sprintf("%s left behind: %s", texts.Dependents(len(names)), texts.Join(names, ", "))))
	if w.awaitsHooks(s) {
		w.warn(s, "HooksSkipped", "deletion hooks that are not over are left out, because the cluster of the dependents is abandoned")
	}
}

// leftBehind are the objects that stay behind if the target is abandoned.
func (s *scope) leftBehind() []*reconciler.InventoryItem {
	var items []*reconciler.InventoryItem
	if !s.dependentsGone() {
		items = s.status.Inventory
	}
	if hooks := s.status.DeletionHooks; hooks != nil {
		items = slices.Concat(items, hooks.Inventory)
	}
	return items
}

// unreachable handles an error of the engine while deleting. If it means that the target is out of reach, the target may be
// abandoned.
func (w *worker) unreachable(ctx context.Context, s *scope, err error) outcome {
	if conflicts.IsAdmission(err) {
		o := outcomeOf(err)
		o.message += fmt.Sprintf("; have that admitted, or set the annotation %s to \"true\" to have all dependents released instead of being deleted", w.orphanAnnotation())
		return o
	}
	if err == nil || !isOutOfReach(ctx, s, err) {
		return outcomeOf(err)
	}
	if w.isAbandoned(s) {
		w.abandon(s, err)
		return proceed
	}
	o := outcomeOf(err)
	if apierrors.IsForbidden(err) {
		o.message += fmt.Sprintf("; grant the permission, or set the annotation %s to \"true\" to leave what is there behind", w.abandonAnnotation())
	}
	return o
}

// isOutOfReach reports whether an error of the engine means that another cluster does not answer, or that a cluster does not let us do
// what is to be done. A failure to read the component, or to write its status, says nothing about that cluster.
func isOutOfReach(ctx context.Context, s *scope, err error) bool {
	var status apierrors.APIStatus
	var refused *reconciler.RefusedError
	var fenced *reconciler.FencedError
	switch {
	case errors.As(err, &fenced), ctx.Err() != nil || s.unsaved || errors.As(err, &refused):
		return false
	case apierrors.IsForbidden(err):
		return true
	case !s.isRemote() && !s.wasRemote() && !s.held:
		return false
	case apierrors.IsUnauthorized(err):
		return true
	default:
		return !errors.As(err, &status)
	}
}

// checkDeletionAllowed holds the deletion back as long as there are foreign instances of managed types.
func (w *worker) checkDeletionAllowed(ctx context.Context, s *scope) outcome {
	if s.target == nil {
		return proceed
	}
	blockers, err := s.target.engine.CheckDeletion(ctx, reconciler.DeleteRequest{Owner: w.departing(s)})
	if err != nil {
		return w.unreachable(ctx, s, err)
	}
	if len(blockers) == 0 {
		return proceed
	}
	return outcome{kind: outcomeBlocked, message: blockerMessage(blockers)}
}

func blockerMessage(blockers []reconciler.Blocker) string {
	names := make([]string, len(blockers))
	for i, blocker := range blockers {
		names[i] = blocker.String()
	}
	slices.Sort(names)
	return "deletion blocked by instances of managed types, such as: " + texts.Join(names, ", ")
}

// liftBarriers ends a pass that did not come to the dependents: instances of types whose deletion has begun can be created again until it
// goes on.
func (w *worker) liftBarriers(ctx context.Context, s *scope, o outcome) outcome {
	if s.engaged || s.target == nil || o.kind == outcomeGone || o.kind == outcomeAbandoned ||
		!slices.ContainsFunc(s.status.Inventory, func(item *reconciler.InventoryItem) bool { return item.Barrier != "" }) {
		return o
	}
	inventory, err := s.target.engine.LiftBarriers(ctx, reconciler.DeleteRequest{Owner: w.owner(s)})
	s.status.Inventory = inventory
	if err != nil && o.kind != outcomeError {
		return outcomeOf(err)
	}
	return o
}

// checkForeignFinalizers holds the deletion back as long as somebody else has to do something first. The garbage collector's
// own finalizers are not meant: they wait for us.
func (w *worker) checkForeignFinalizers(_ context.Context, s *scope) outcome {
	foreign := slices.DeleteFunc(slices.Sorted(slices.Values(s.component.GetFinalizers())), func(finalizer string) bool {
		return w.options.finalizers().Owns(finalizer) || finalizer == metav1.FinalizerDeleteDependents || finalizer == metav1.FinalizerOrphanDependents
	})
	if len(foreign) == 0 {
		return proceed
	}
	return outcome{kind: outcomeBlocked, message: "deletion blocked by finalizers: " + strings.Join(foreign, ", ")}
}

func (w *worker) deleteDependents(ctx context.Context, s *scope) outcome {
	if s.target == nil || s.dependentsGone() {
		return proceed
	}
	result, err := s.target.engine.Delete(ctx, reconciler.DeleteRequest{Owner: w.departing(s)})
	w.took(s, &result)
	if s.orphaning {
		w.announceReleased(s)
	}
	switch {
	case err != nil:
		return w.unreachable(ctx, s, err)
	case !result.Done:
		return outcome{kind: outcomeDeleting, message: texts.Waits(result, "deleted"), wake: result.RequeueAfter}
	}
	return proceed
}

// afterDelete runs the hooks that rely on all dependents being gone.
func (w *worker) afterDelete(ctx context.Context, s *scope) outcome {
	if s.abandoned || s.orphaning {
		return proceed
	}
	return runHooks(w.hookContext(ctx, s), s, "post-delete", w.hooks.postDelete)
}

func (w *worker) removeFinalizer(ctx context.Context, s *scope) outcome {
	err := w.changeFinalizers(ctx, s, w.options.finalizers().Without)
	if err != nil {
		return outcomeOf(err)
	}
	s.memory.finished, s.memory.generated = true, nil
	return outcome{kind: outcomeGone}
}
