// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/metrics"
	"github.com/component-operator/runtime/pkg/component/internal/generation"
	"github.com/component-operator/runtime/pkg/component/internal/outcomes"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/status"
	"github.com/component-operator/runtime/pkg/types"
)

// announcedObjects is the maximum number of objects that an event names.
const announcedObjects = 5

func (p *pass) warn(reason, message string) {
	p.worker.events.Event(p.subject, corev1.EventTypeWarning, reason, outcomes.Bound(message))
}

func (p *pass) tell(reason, message string) {
	p.worker.events.Event(p.subject, corev1.EventTypeNormal, reason, outcomes.Bound(message))
}

// announceVerdict writes an event and a line of the log if state or reason have changed. A change of the message alone
// counts only in states whose message is stable; the progress of a rollout is visible in the status. After its timeout,
// a component announces only failures until it is ready.
func (p *pass) announceVerdict(now verdict, kind outcomes.Kind) {
	before, message := p.before, outcomes.Bound(now.message)
	isLate := before.reason == ReadyConditionReasonTimeout && now.reason == ReadyConditionReasonTimeout && (kind == outcomes.Progressing || kind == outcomes.Retriable)
	sameState := before.state == now.state && before.reason == now.reason
	inMotion := now.reason == ReadyConditionReasonProcessing || now.reason == ReadyConditionReasonDeletionProcessing
	if isLate || sameState && (inMotion || before.message == message) {
		return
	}
	p.log.Info("state of the component", "state", now.state, "reason", now.reason, "message", message)
	if now.state == StateError || now.reason == ReadyConditionReasonTimeout {
		p.warn(now.reason, message)
		return
	}
	p.tell(now.reason, message)
}

// refusalOf returns the reason of a refusal for the metrics.
func refusalOf(refused *reconciler.RefusedError) metrics.Refusal {
	switch {
	case refused != nil && refused.Foreign:
		return metrics.RefusalOwned
	case refused != nil && refused.Rejected:
		return metrics.RefusalRejected
	default:
		return metrics.RefusalInvalid
	}
}

// announce reports the actions of the engine, with the given names of waves. Its events are written after the status,
// which does not wait for them.
func (p *pass) announce(result *reconciler.Result, names outcomes.Waves) {
	p.result = result
	p.logActions(result)
	p.noteDrift(result)
	if p.handle.IsAnnotated(types.AnnotationKeySuffixDisableEvents) {
		return
	}
	for _, action := range result.Actions {
		if p.worker.options.EventPerDependent {
			p.announceEach(action, names)
			continue
		}
		message := actionMessage(action, names)
		p.later = append(p.later, func() { p.tell(string(action.Verb), message) })
	}
	if len(result.Notes) > 0 {
		message := outcomes.Notices(result.Notes)
		p.later = append(p.later, func() { p.warn("Noticed", message) })
	}
}

// emit writes the events that were collected.
func (p *pass) emit() {
	for _, write := range p.later {
		write()
	}
	p.later = nil
}

// logActions logs each change of a dependent with its reason, for later inquiries.
func (p *pass) logActions(result *reconciler.Result) {
	for _, action := range result.Actions {
		for i, object := range action.Objects {
			values := []any{"object", outcomes.Name(object), "wave", action.Wave, "revision", p.status.Revision}
			if i < len(action.Reasons) && action.Reasons[i] != "" {
				values = append(values, "reason", action.Reasons[i])
			}
			p.log.Info(strings.ToLower(string(action.Verb))+" a dependent", values...)
		}
	}
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
	if action.Verb == reconciler.VerbCompleted {
		return fmt.Sprintf("%s of %s completed, and gone: %s", outcomes.Dependents(len(names)), waves.Name(action.Wave), list)
	}
	return fmt.Sprintf("%s %s of %s: %s", action.Verb, outcomes.Dependents(len(names)), waves.Name(action.Wave), list)
}

// correction returns the reason why an object was corrected; empty for other actions.
func correction(action reconciler.Action, i int) string {
	if !action.Verb.IsCorrection() || i >= len(action.Reasons) {
		return ""
	}
	return action.Reasons[i]
}

// announceEach collects an event about each dependent. These go to the cluster of the dependents.
func (p *pass) announceEach(action reconciler.Action, waves outcomes.Waves) {
	target := p.destination.Target().Client
	done := fmt.Sprintf("%s by %s in %s", action.Verb, p.handle.Name(), waves.Name(action.Wave))
	for i, key := range action.Objects {
		message := done
		if reason := correction(action, i); reason != "" {
			message = outcomes.Bound(done + ": " + reason)
		}
		object := identified(key.GetObjectKind().GroupVersionKind(), key.GetNamespace(), key.GetName())
		p.later = append(p.later, func() { target.EventRecorder().Event(object, corev1.EventTypeNormal, string(action.Verb), message) })
	}
}

// noteDrift counts each drift once, and warns about drift that is not corrected.
func (p *pass) noteDrift(result *reconciler.Result) {
	for _, action := range result.Actions {
		for range action.Objects {
			if action.Verb.IsCorrection() {
				p.worker.metrics.Drifted(types.DriftPolicyCorrect)
			}
		}
	}
	isReported := cmp.Or(p.settings.policies.Drift, ptr.Deref(p.worker.options.DriftPolicy, "")) == reconciler.DriftPolicyReport
	present := map[string]bool{}
	var news []reconciler.Notice
	for _, notice := range result.Drift {
		name := outcomes.Name(notice.Object)
		present[name] = true
		if p.memory.drifted[name] {
			continue
		}
		news = append(news, notice)
		if isReported {
			p.worker.metrics.Drifted(types.DriftPolicyReport)
		} else {
			p.worker.metrics.Fights.Inc()
		}
	}
	p.memory.drifted = present
	if len(news) > 0 {
		p.warn("Drift", "changed by other clients, and not corrected: "+outcomes.Notices(news))
	}
}

// announceWarnings warns once about each mistake that the generator, or a behavior of its objects, has noticed, and
// again if it comes back with another declaration. Objects that a guard holds back yield no warnings meanwhile.
func (p *pass) announceWarnings(generated *generation.Result) {
	memory, warnings := p.memory, generated.Warnings.All()
	if memory.noticedIn != p.declared.Digest.Value {
		memory.noticed = slices.DeleteFunc(memory.noticed, func(warning string) bool { return !slices.Contains(warnings, warning) })
		memory.noticedIn = p.declared.Digest.Value
	}
	for _, warning := range warnings {
		if !slices.Contains(memory.noticed, warning) {
			p.warn("Noticed", warning)
			memory.noticed = append(memory.noticed, warning)
		}
	}
}

// announceReleased reports the dependents that were orphaned on request of the user.
func (p *pass) announceReleased(result *reconciler.Result) {
	var names []string
	for _, action := range result.Actions {
		if action.Verb == reconciler.VerbOrphaned {
			for _, object := range action.Objects {
				names = append(names, outcomes.Name(object))
			}
		}
	}
	if len(names) == 0 {
		return
	}
	slices.Sort(names)
	p.log.Info("dependents were orphaned, because the component was deleted with the propagation policy Orphan", "dependents", names)
	p.tell("Released", fmt.Sprintf(
		"%s orphaned, because the component was deleted with the propagation policy Orphan: %s", outcomes.Dependents(len(names)), outcomes.Join(names, ", ")))
}

// measure updates the metrics of the component.
func (p *pass) measure(reason string) {
	unready := 0
	for _, item := range p.status.Inventory {
		if item.Phase != reconciler.PhaseCompleted && (item.Phase != reconciler.PhaseReady || item.Status != status.CurrentStatus) {
			unready++
		}
	}
	p.worker.metrics.SetComponent(p.worker.series(p.key), string(p.status.State), reason, len(p.status.Inventory), unready)
}

const (
	// maxExplained is the maximum number of workloads that are explained, and maxPods the maximum number of their Pods
	// that are read: most of them wait for the same reason.
	maxExplained, maxPods = 5, 50
	// explainAfter is how long a state must last before the Pods are read. As long as they give no reason, they are
	// read again after twice the time, at most after explainPause.
	explainAfter, explainPause = 2 * time.Second, time.Minute
)

// explanation is the reason why a workload is not ready, from its Pods.
type explanation struct {
	// state is the engine's message about it.
	state string
	// due is when its Pods are read; pause is the time until then.
	due   time.Time
	pause time.Duration
	// text is the reason; empty if there is none yet.
	text string
}

// explain adds reasons from their Pods to the engine's messages about workloads, and schedules the next pass for when
// Pods must be read.
func (p *pass) explain(ctx context.Context, result *reconciler.Result) {
	if !p.worker.options.ExplainPods {
		return
	}
	before, now, left := p.memory.explained, p.worker.options.Clock.Now(), maxExplained
	explained := map[types.ObjectID]explanation{}
	explainAll := func(notices []reconciler.Notice, after time.Duration) {
		for i := range notices {
			notice := &notices[i]
			if left == 0 || !slices.Contains(withPods, notice.Object.GetObjectKind().GroupVersionKind().GroupKind()) {
				continue
			}
			left--
			id := types.IDOf(notice.Object)
			e := before[id]
			if e.state != notice.Message {
				e = explanation{state: notice.Message, due: now.Add(after), pause: explainAfter}
			}
			if e.text == "" && !now.Before(e.due) {
				e.text = p.reasonOf(ctx, notice.Object)
				e.pause = min(2*e.pause, explainPause)
				e.due = now.Add(e.pause)
			}
			if e.text == "" {
				result.RequeueAfter = min(cmp.Or(result.RequeueAfter, explainPause), e.due.Sub(now))
			} else {
				notice.Message += "; " + e.text
			}
			explained[id] = e
		}
	}
	explainAll(result.Failures, 0)
	explainAll(result.Waits, explainAfter)
	p.memory.explained = explained
}

// withPods are the workload kinds of Kubernetes, and Pod.
var withPods = []schema.GroupKind{
	{Kind: "Pod"},
	{Kind: "ReplicationController"},
	{Group: "batch", Kind: "Job"},
	{Group: "apps", Kind: "Deployment"},
	{Group: "apps", Kind: "StatefulSet"},
	{Group: "apps", Kind: "DaemonSet"},
	{Group: "apps", Kind: "ReplicaSet"},
}

// reasonOf returns why a workload is not ready, according to the newest of its Pods that gives a reason; empty if none
// does.
func (p *pass) reasonOf(ctx context.Context, workload types.ObjectKey) string {
	pods, err := p.podsOf(ctx, workload)
	if apierrors.IsForbidden(err) {
		return fmt.Sprintf("the reason is unknown, because Pods in namespace %s may not be listed", workload.GetNamespace())
	}
	if err != nil {
		p.log.V(1).Info("the pods of a workload cannot be read", "object", types.IDOf(workload).String(), "reason", err.Error())
		return ""
	}
	slices.SortFunc(pods, func(p, b corev1.Pod) int { return b.CreationTimestamp.Compare(p.CreationTimestamp.Time) })
	for i := range pods {
		for _, finding := range status.PodFindings(&pods[i]) {
			if !finding.Vague {
				return fmt.Sprintf("Pod %s: %s", pods[i].Name, finding.Text)
			}
		}
	}
	return ""
}

// podsOf reads the Pods that a workload selects.
func (p *pass) podsOf(ctx context.Context, workload types.ObjectKey) ([]corev1.Pod, error) {
	clnt := p.destination.Target().Client
	live := identified(workload.GetObjectKind().GroupVersionKind(), workload.GetNamespace(), workload.GetName())
	if err := clnt.Get(ctx, client.ObjectKeyFromObject(live), live); err != nil {
		return nil, err
	}
	if live.GetKind() == "Pod" {
		pod := corev1.Pod{}
		err := runtime.DefaultUnstructuredConverter.FromUnstructured(live.Object, &pod)
		return []corev1.Pod{pod}, err
	}
	selector, err := selectorOf(live)
	if err != nil {
		return nil, err
	}
	pods := &corev1.PodList{}
	err = clnt.List(ctx, pods, client.InNamespace(live.GetNamespace()), client.MatchingLabelsSelector{Selector: selector}, client.Limit(maxPods))
	return pods.Items, err
}

// selectorOf returns the selector of a workload. A ReplicationController's selector has labels only.
func selectorOf(live *unstructured.Unstructured) (labels.Selector, error) {
	declared, _, err := unstructured.NestedMap(live.Object, "spec", "selector")
	if err != nil {
		return nil, err
	}
	if len(declared) == 0 {
		return labels.Nothing(), nil
	}
	if live.GetKind() == "ReplicationController" {
		declared = map[string]any{"matchLabels": declared}
	}
	selector := &metav1.LabelSelector{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(declared, selector); err != nil {
		return nil, err
	}
	return metav1.LabelSelectorAsSelector(selector)
}
