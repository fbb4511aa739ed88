// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"

	"github.com/component-operator/runtime/pkg/component/internal/texts"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/status"
	"github.com/component-operator/runtime/pkg/types"
)

// announcedObjects is how many objects an event names.
const announcedObjects = 5

// warn writes an event about the component itself.
func (w *worker) warn(s *scope, reason string, message string) {
	w.events.Event(w.metadataOnly(s), corev1.EventTypeWarning, reason, message)
}

// announceVerdict writes an event if state or reason have changed, or the message of a state that is not supposed to
// change it all the time: the progress of a rollout is seen in the status.
func (w *worker) announceVerdict(s *scope, v verdict) {
	v.message = texts.Bound(v.message)
	sameState := s.before.state == v.state && s.before.reason == v.reason
	inMotion := v.reason == ReadyConditionReasonProcessing || v.reason == ReadyConditionReasonDeletionProcessing
	if sameState && (inMotion || s.before.message == v.message) {
		return
	}
	eventType := corev1.EventTypeNormal
	if v.state == StateError || v.reason == ReadyConditionReasonTimeout {
		eventType = corev1.EventTypeWarning
	}
	w.events.Event(w.metadataOnly(s), eventType, v.reason, v.message)
}

// announceResult writes events about what the engine did to dependents, and what it noticed.
func (w *worker) announceResult(s *scope) {
	w.countDrift(s)
	if s.component.GetAnnotations()[w.name+"/"+types.AnnotationKeySuffixDisableEvents] == "true" {
		return
	}
	for _, action := range s.result.Actions {
		if w.options.EventPerDependent {
			w.announceEach(s, action)
			continue
		}
		w.events.Event(w.metadataOnly(s), corev1.EventTypeNormal, string(action.Verb), actionMessage(action))
	}
	if len(s.result.Notes) > 0 {
		w.warn(s, "Noticed", texts.Bound(texts.Notices(s.result.Notes)))
	}
}

func actionMessage(action reconciler.Action) string {
	names := make([]string, len(action.Objects))
	for i, object := range action.Objects {
		names[i] = texts.Name(object)
	}
	list := texts.Join(names[:min(len(names), announcedObjects)], ", ")
	if more := len(names) - announcedObjects; more > 0 {
		list += " and " + strconv.Itoa(more) + " more"
	}
	return texts.Bound(fmt.Sprintf("%s %s of wave %d: %s", action.Verb, texts.Dependents(len(names)), action.Wave, list))
}

// announceEach writes events into the cluster of the dependents.
func (w *worker) announceEach(s *scope, action reconciler.Action) {
	for _, key := range action.Objects {
		object := &unstructured.Unstructured{}
		object.SetGroupVersionKind(key.GetObjectKind().GroupVersionKind())
		object.SetNamespace(key.GetNamespace())
		object.SetName(key.GetName())
		s.target.client.EventRecorder().Event(object, corev1.EventTypeNormal, string(action.Verb),
			fmt.Sprintf("%s by %s %s in wave %d", action.Verb, w.gvk.Kind, s.key, action.Wave))
	}
}

// countDrift counts each drift once, and says which one is not going to be corrected.
func (w *worker) countDrift(s *scope) {
	for _, action := range s.result.Actions {
		for range action.Objects {
			if action.Verb == reconciler.VerbCorrected {
				w.metrics.Drifted(types.DriftPolicyCorrect)
			}
		}
	}
	present := map[string]bool{}
	var news []reconciler.Notice
	for _, notice := range s.result.Drift {
		name := texts.Name(notice.Object)
		present[name] = true
		if s.memory.drifted[name] {
			continue
		}
		news = append(news, notice)
		if w.driftPolicy(s) == reconciler.DriftPolicyReport {
			w.metrics.Drifted(types.DriftPolicyReport)
		} else {
			w.metrics.Fought()
		}
	}
	s.memory.drifted = present
	if len(news) > 0 {
		w.warn(s, "Drift", texts.Bound("changed by others: "+texts.Notices(news)))
	}
}

// driftPolicy is that of dependents whose annotations do not say otherwise.
func (w *worker) driftPolicy(s *scope) reconciler.DriftPolicy {
	return cmp.Or(s.settings.policies.Drift, ptr.Deref(w.options.DriftPolicy, ""), reconciler.DriftPolicyCorrect)
}

// measure updates the metrics of the component.
func (w *worker) measure(s *scope) {
	ready := func(item *reconciler.InventoryItem) bool {
		return item.Phase == reconciler.PhaseCompleted || (item.Phase == reconciler.PhaseReady && item.Status == status.CurrentStatus)
	}
	unready := len(slices.DeleteFunc(slices.Clone(s.status.Inventory), ready))
	w.metrics.SetComponent(w.series(s.key), string(s.status.State), len(s.status.Inventory), unready)
}
