// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apitypes "k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/ptr"

	"github.com/component-operator/runtime/internal/metrics"
	"github.com/component-operator/runtime/pkg/cluster"
	"github.com/component-operator/runtime/pkg/component/internal/outcomes"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/status"
	"github.com/component-operator/runtime/pkg/types"
)

// announcer reports what happens to components, by events and metrics. The subject of an event identifies a component.
type announcer struct {
	events  record.EventRecorder
	metrics *metrics.Controller
	// perDependent is set if events are written about each dependent.
	perDependent bool
	// driftPolicy is the default for components without one.
	driftPolicy reconciler.DriftPolicy
}

func newAnnouncer(options ReconcilerOptions, recorder record.EventRecorder, collectors *metrics.Controller) *announcer {
	return &announcer{events: recorder, metrics: collectors, perDependent: options.EventPerDependent, driftPolicy: ptr.Deref(options.DriftPolicy, "")}
}

// announcedObjects is the maximum number of objects that an event names.
const announcedObjects = 5

func (a *announcer) warn(subject *unstructured.Unstructured, reason, message string) {
	a.events.Event(subject, corev1.EventTypeWarning, reason, message)
}

func (a *announcer) tell(subject *unstructured.Unstructured, reason, message string) {
	a.events.Event(subject, corev1.EventTypeNormal, reason, message)
}

// verdict writes an event and a line of the log if state or reason have changed. A change of the message alone counts
// only in states whose message is stable; the progress of a rollout is visible in the status. After its timeout, a
// component has only failures to say, until it is ready.
func (a *announcer) verdict(subject *unstructured.Unstructured, log logr.Logger, before, now verdict, kind outcomes.Kind) {
	message := outcomes.Bound(now.message)
	isLate := before.reason == ReadyConditionReasonTimeout && now.reason == ReadyConditionReasonTimeout && (kind == outcomes.Progressing || kind == outcomes.Retriable)
	sameState := before.state == now.state && before.reason == now.reason
	inMotion := now.reason == ReadyConditionReasonProcessing || now.reason == ReadyConditionReasonDeletionProcessing
	if isLate || sameState && (inMotion || before.message == message) {
		return
	}
	log.Info("state of the component", "state", now.state, "reason", now.reason, "message", message)
	if now.state == StateError || now.reason == ReadyConditionReasonTimeout {
		a.warn(subject, now.reason, message)
		return
	}
	a.tell(subject, now.reason, message)
}

// refusalOf returns the reason of a refusal, as metrics have it.
func refusalOf(refused *reconciler.RefusedError) metrics.Refusal {
	switch {
	case refused == nil:
		return metrics.RefusalInvalid
	case refused.Foreign:
		return metrics.RefusalOwned
	case refused.Rejected:
		return metrics.RefusalRejected
	default:
		return metrics.RefusalInvalid
	}
}

// record writes a line of the log for each change of a dependent, for those who have to know later what was done, and
// why.
func (a *announcer) record(log logr.Logger, result *reconciler.Result, revision int64) {
	for _, action := range result.Actions {
		for i, object := range action.Objects {
			values := []any{"object", outcomes.Name(object), "wave", action.Wave, "revision", revision}
			if i < len(action.Reasons) && action.Reasons[i] != "" {
				values = append(values, "reason", action.Reasons[i])
			}
			log.Info(strings.ToLower(string(action.Verb))+" a dependent", values...)
		}
	}
}

// result returns events about what the engine did and noticed. Events about dependents go to the cluster of the
// dependents.
func (a *announcer) result(subject *unstructured.Unstructured, result *reconciler.Result, waves outcomes.Waves, target cluster.Client) outbox {
	var events outbox
	for _, action := range result.Actions {
		if a.perDependent {
			events = append(events, announceEach(subject, action, waves, target)...)
			continue
		}
		message := actionMessage(action, waves)
		events = append(events, func() { a.tell(subject, string(action.Verb), message) })
	}
	if len(result.Notes) > 0 {
		message := outcomes.Bound(outcomes.Notices(result.Notes))
		events = append(events, func() { a.warn(subject, "Noticed", message) })
	}
	return events
}

func actionMessage(action reconciler.Action, waves outcomes.Waves) string {
	names := make([]string, len(action.Objects))
	for i, object := range action.Objects {
		names[i] = outcomes.Name(object)
		if reason := correction(action, i); reason != "" {
			names[i] += " (" + reason + ")"
		}
	}
	list := outcomes.Join(names[:min(len(names), announcedObjects)], ", ")
	if more := len(names) - announcedObjects; more > 0 {
		list += " and " + strconv.Itoa(more) + " more"
	}
	return outcomes.Bound(fmt.Sprintf("%s %s of %s: %s", action.Verb, outcomes.Dependents(len(names)), waves.Name(action.Wave), list))
}

// correction says why an object was corrected; empty for other actions.
func correction(action reconciler.Action, i int) string {
	if !action.Verb.IsCorrection() || i >= len(action.Reasons) {
		return ""
	}
	return action.Reasons[i]
}

func announceEach(subject *unstructured.Unstructured, action reconciler.Action, waves outcomes.Waves, target cluster.Client) outbox {
	var events outbox
	name := apitypes.NamespacedName{Namespace: subject.GetNamespace(), Name: subject.GetName()}
	done := fmt.Sprintf("%s by %s %s in %s", action.Verb, subject.GetKind(), name, waves.Name(action.Wave))
	for i, key := range action.Objects {
		message := done
		if reason := correction(action, i); reason != "" {
			message = outcomes.Bound(done + ": " + reason)
		}
		object := &unstructured.Unstructured{}
		object.SetGroupVersionKind(key.GetObjectKind().GroupVersionKind())
		object.SetNamespace(key.GetNamespace())
		object.SetName(key.GetName())
		events = append(events, func() { target.EventRecorder().Event(object, corev1.EventTypeNormal, string(action.Verb), message) })
	}
	return events
}

// drift counts each drift once, and warns about drift that is not corrected.
func (a *announcer) drift(subject *unstructured.Unstructured, memory *memory, policy reconciler.DriftPolicy, result *reconciler.Result) {
	for _, action := range result.Actions {
		for range action.Objects {
			if action.Verb.IsCorrection() {
				a.metrics.Drifted(types.DriftPolicyCorrect)
			}
		}
	}
	present := map[string]bool{}
	var news []reconciler.Notice
	for _, notice := range result.Drift {
		name := outcomes.Name(notice.Object)
		present[name] = true
		if memory.drifted[name] {
			continue
		}
		news = append(news, notice)
		if cmp.Or(policy, a.driftPolicy, reconciler.DriftPolicyCorrect) == reconciler.DriftPolicyReport {
			a.metrics.Drifted(types.DriftPolicyReport)
		} else {
			a.metrics.Fought()
		}
	}
	memory.drifted = present
	if len(news) > 0 {
		a.warn(subject, "Drift", outcomes.Bound("changed by other clients: "+outcomes.Notices(news)))
	}
}

// noticed warns once about each mistake that the generator has noticed, and again if it comes back with another
// declaration. What a guard holds back has no mistakes meanwhile.
func (a *announcer) noticed(subject *unstructured.Unstructured, memory *memory, declaration string, warnings []string) {
	if memory.noticedIn != declaration {
		memory.noticed = slices.DeleteFunc(memory.noticed, func(warning string) bool { return !slices.Contains(warnings, warning) })
		memory.noticedIn = declaration
	}
	for _, warning := range warnings {
		if !slices.Contains(memory.noticed, warning) {
			a.warn(subject, "Noticed", outcomes.Bound(warning))
			memory.noticed = append(memory.noticed, warning)
		}
	}
}

// released reports the dependents that were orphaned on request of the user.
func (a *announcer) released(subject *unstructured.Unstructured, log logr.Logger, result *reconciler.Result) {
	var names []string
	for _, action := range result.Actions {
		if action.Verb != reconciler.VerbOrphaned {
			continue
		}
		for _, object := range action.Objects {
			names = append(names, outcomes.Name(object))
		}
	}
	if len(names) == 0 {
		return
	}
	slices.Sort(names)
	log.Info("dependents were orphaned, because the component was deleted with the propagation policy Orphan", "dependents", names)
	a.tell(subject, "Released", outcomes.Bound(fmt.Sprintf(
		"%s orphaned, because the component was deleted with the propagation policy Orphan: %s", outcomes.Dependents(len(names)), outcomes.Join(names, ", "))))
}

// measure updates the metrics of a component.
func (a *announcer) measure(series metrics.Component, component *Status, reason string) {
	ready := func(item *reconciler.InventoryItem) bool {
		return item.Phase == reconciler.PhaseCompleted || (item.Phase == reconciler.PhaseReady && item.Status == status.CurrentStatus)
	}
	unready := len(slices.DeleteFunc(slices.Clone(component.Inventory), ready))
	a.metrics.SetComponent(series, string(component.State), reason, len(component.Inventory), unready)
}

// An outbox has events that wait to be written.
type outbox []func()

// emit writes the events, each once.
func (o *outbox) emit() {
	events := *o
	*o = nil
	for _, write := range events {
		write()
	}
}
