// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/component/internal/texts"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/types"
)

// A component that is deleted with the propagation policy Orphan has the finalizer orphan, but only for a moment: Kubernetes' garbage
// collector removes it as soon as it has seen that no object refers to the component as its owner. So it is noted when an event
// shows it, and written down in an annotation of the component before anything is released.

// isOrphaned reports whether somebody deletes the component and wants its dependents to stay.
func isOrphaned(object client.Object) bool {
	return object.GetDeletionTimestamp() != nil && slices.Contains(object.GetFinalizers(), metav1.FinalizerOrphanDependents)
}

func (w *worker) orphanAnnotation() string {
	return w.name + "/" + types.AnnotationKeySuffixOrphanDependents
}

// noteOrphaning finds out whether dependents are to be released, and records it.
func (w *worker) noteOrphaning(ctx context.Context, s *scope) outcome {
	if !s.deleting {
		return proceed
	}
	recorded := s.component.GetAnnotations()[w.orphanAnnotation()] == "true"
	s.orphaning = recorded || isOrphaned(s.component) || w.memories.isOrphaned(s.key, s.memory.uid)
	if !s.orphaning || recorded {
		return proceed
	}
	if err := w.annotate(ctx, s, w.orphanAnnotation(), "true"); err != nil {
		return outcomeOf(fmt.Errorf("recording that dependents are to be released: %w", err))
	}
	return proceed
}

// annotate sets an annotation of the component; nil removes it.
func (w *worker) annotate(ctx context.Context, s *scope, key string, value any) error {
	for range maxConflicts {
		patched := w.newComponent()
		err := w.patch(ctx, s, patched, map[string]any{"metadata": map[string]any{"annotations": map[string]any{key: value}}}, "")
		switch {
		case err == nil:
			s.component.SetAnnotations(patched.GetAnnotations())
			s.setFinalizers(patched.GetFinalizers(), patched.GetResourceVersion())
			w.memories.wrote(s.memory, s.version)
			return nil
		case apierrors.IsConflict(err):
			if err := w.rebase(ctx, s); err != nil {
				return err
			}
		case apierrors.IsNotFound(err):
			return errAbandoned
		default:
			return err
		}
	}
	return errAbandoned
}

// departing is the owner whose dependents go, or are released.
func (w *worker) departing(s *scope) reconciler.Owner {
	owner := w.owner(s)
	if !s.orphaning {
		return owner
	}
	owner.Inventory = make([]*reconciler.InventoryItem, len(s.status.Inventory))
	for i, item := range s.status.Inventory {
		released := *item
		released.DeletePolicy = reconciler.DeletePolicyOrphan
		owner.Inventory[i] = &released
	}
	return owner
}

// announceReleased names the dependents that were released because somebody wanted them to stay.
func (w *worker) announceReleased(s *scope) {
	var names []string
	for _, action := range s.result.Actions {
		if action.Verb != reconciler.VerbOrphaned {
			continue
		}
		for _, object := range action.Objects {
			names = append(names, texts.Name(object))
		}
	}
	if len(names) == 0 {
		return
	}
	slices.Sort(names)
	s.log.Info("dependents were released, because the component is deleted with the propagation policy Orphan", "dependents", names)
	w.events.Event(w.metadataOnly(s), corev1.EventTypeNormal, "Released", texts.Bound(fmt.Sprintf(
		"%s stay, because the component is deleted with the propagation policy Orphan: %s", texts.Dependents(len(names)), texts.Join(names, ", "))))
}
