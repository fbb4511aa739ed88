// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package live

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	apitypes "k8s.io/apimachinery/pkg/types"

	"github.com/component-operator/runtime/internal/concurrent"
	"github.com/component-operator/runtime/internal/display"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/status"
)

// maxPods is the maximum number of pods of one owner that are explained: they mostly fail for the same reason.
const maxPods = 3

// explain adds the reasons to all nodes that are not ready.
func (s *Survey) explain(ctx context.Context, roots []*display.Node) error {
	var unready []*display.Node
	explainedRoots := 0
	for _, root := range roots {
		if s.options.Reasons == MainReasons && !root.IsReady() {
			if explainedRoots++; explainedRoots > MaxExplained {
				continue
			}
		}
		root.Walk(func(node *display.Node) {
			var explained int
			for _, child := range node.Children {
				isPod := child.Object.Key().GroupKind == pods.GroupKind()
				// Failed pods remain after others have succeeded.
				isPast := isPod && child.Status == status.FailedStatus && node.IsReady()
				if child.IsReady() || isPast || isPod && explained == maxPods {
					continue
				}
				if isPod {
					explained++
				}
				unready = append(unready, child)
			}
		})
		if !root.IsReady() && root.Live != nil {
			unready = append(unready, root)
		}
	}
	defer s.forgetLines()
	return concurrent.Each(maxRequests, unready, func(_ int, node *display.Node) error { return s.explainOne(ctx, node, s.unready[node]) })
}

// explainOne adds the reasons of a node from specific to vague: the state of the object itself, then events about it.
// Only if there are none, it adds reasons that merely restate the status.
func (s *Survey) explainOne(ctx context.Context, node *display.Node, o *object) error {
	var vague []display.Reason
	// A Deployment repeats the conditions of its ReplicaSets.
	repeats := o.key.GroupKind == deployments.GroupKind() && len(node.Children) > 0
	for _, said := range o.statements() {
		switch {
		case repeats && said.Source == display.SourceCondition:
			continue
		case said.Vague:
			vague = append(vague, said.Reason)
			continue
		}
		node.Why = append(node.Why, said.Reason)
		if said.container != "" && s.options.Reasons == AllReasons {
			node.Why = append(node.Why, s.lastLine(ctx, node.Object.Namespace, said)...)
		}
	}
	found, err := s.eventReasons(ctx, node)
	if err != nil {
		return err
	}
	found = slices.DeleteFunc(found, func(reason display.Reason) bool {
		_, said, _ := strings.Cut(reason.Text, ": ")
		return said != "" && strings.Contains(node.Message, said)
	})
	node.Why = withoutRepetitions(append(node.Why, found...))
	if len(node.Why) == 0 {
		node.Why = vague
	}
	return nil
}

// statement is a reason in the object itself.
type statement struct {
	display.Reason
	// crash is the one whose last log line has details; its container is empty if there is none. previous selects the
	// log of the previous run.
	crash
	previous bool
}

// statements returns the reasons in the object itself.
func (o *object) statements() []statement {
	if o.says != nil {
		return o.says
	}
	reasons := deletionReasons(o.Unstructured)
	if o.key.GroupKind != pods.GroupKind() {
		reasons = append(reasons, conditionReasons(o.Unstructured, o.judged.Message)...)
	}
	o.says = append([]statement{}, display.Map(reasons, func(reason display.Reason) statement { return statement{Reason: reason} })...)
	if pod := podOf(o.Unstructured); o.key.GroupKind == pods.GroupKind() && pod != nil {
		for _, f := range status.PodFindings(pod) {
			reason := display.Reason{Source: display.Source(f.Source), Text: oneLine(joined(f.Text, f.Output)), Since: f.Since, Vague: f.Vague}
			o.says = append(o.says, statement{Reason: reason, crash: crash{pod.Name, pod.UID, f.Crashed, f.Since}, previous: f.Previous})
		}
	}
	return o.says
}

// isBeingDeleted is the beginning of the reason for a terminating object.
const isBeingDeleted = "is being deleted"

// deletionReasons returns the reason for a terminating object: since when it is terminating, and its finalizers. It
// returns none for any other object.
func deletionReasons(live *unstructured.Unstructured) []display.Reason {
	deleted := live.GetDeletionTimestamp()
	if deleted == nil {
		return nil
	}
	reason := display.Reason{Source: display.SourceStatus, Text: isBeingDeleted, Since: deleted.Time}
	if finalizers := slices.Sorted(slices.Values(live.GetFinalizers())); len(finalizers) > 0 {
		reason.Text += ", blocked by finalizers: " + strings.Join(finalizers, ", ")
	}
	return []display.Reason{reason}
}

// bad are the conditions that indicate a problem if they are True; all others indicate one if they are False.
var bad = map[string]bool{
	"ReplicaFailure": true, "Failed": true, "FailureTarget": true, "Stalled": true, "Degraded": true,

	"NamespaceDeletionDiscoveryFailure": true, "NamespaceDeletionGroupVersionParsingFailure": true, "NamespaceDeletionContentFailure": true,
	"NamespaceContentRemaining": true, "NamespaceFinalizersRemaining": true,
}

// conditionReasons returns the conditions that indicate a problem, except those that the message repeats.
func conditionReasons(live *unstructured.Unstructured, message string) []display.Reason {
	conditions, _, _ := unstructured.NestedSlice(live.Object, "status", "conditions")
	var reasons []display.Reason
	for _, entry := range conditions {
		fields, _ := entry.(map[string]any)
		text := func(field string) string {
			value, _, _ := unstructured.NestedString(fields, field)
			return oneLine(value)
		}
		wrong := "False"
		if bad[text("type")] {
			wrong = "True"
		}
		restates := strings.Contains(message, text("message")) || text("reason") == "MinimumReplicasUnavailable"
		if text("status") != wrong || text("message") == "" || restates {
			continue
		}
		reason := display.Reason{Source: display.SourceCondition, Text: text("type") + ": " + text("message")}
		if text("reason") != "" {
			reason.Text = text("type") + " (" + text("reason") + "): " + text("message")
		}
		if since, err := time.Parse(time.RFC3339, text("lastTransitionTime")); err == nil {
			reason.Since = since
		}
		reasons = append(reasons, reason)
	}
	return reasons
}

// withoutRepetitions drops events that repeat a state, and adds their count to the state.
func withoutRepetitions(reasons []display.Reason) []display.Reason {
	var kept []display.Reason
	for _, reason := range reasons {
		repeated := slices.IndexFunc(kept, func(k display.Reason) bool {
			word, said, _ := strings.Cut(reason.Text, ": ")
			return reason.Source == display.SourceEvent && k.Source != display.SourceEvent &&
				(said == "" || strings.Contains(k.Text, said) || strings.Contains(k.Text, "("+word+")"))
		})
		if repeated < 0 {
			kept = append(kept, reason)
			continue
		}
		kept[repeated].Count = max(kept[repeated].Count, reason.Count)
	}
	return kept
}

// controlSequence matches terminal control sequences, such as colors.
var controlSequence = regexp.MustCompile(`\x1b\[[0-?]*[ -/]*[@-~]`)

// oneLine makes external text safe to show: one line of limited length, without control sequences.
func oneLine(text string) string {
	text = controlSequence.ReplaceAllString(strings.ToValidUTF8(text, "?"), "")
	text = display.Clean(strings.Join(strings.Fields(text), " "))
	if runes := []rune(text); len(runes) > 2*status.MaxMessageLength {
		return string(runes[:2*status.MaxMessageLength]) + "…"
	}
	return text
}

// maxEventReasons is the maximum number of event reasons that are shown for an object.
const maxEventReasons = 3

// eventReasons summarizes the events about an object. It reads them, unless they are known.
func (s *Survey) eventReasons(ctx context.Context, node *display.Node) ([]display.Reason, error) {
	if s.readsEvents() {
		return sumUp(s.about[node.Object.UID]), nil
	}
	selector := fields.Set{"involvedObject.uid": string(node.Object.UID)}
	if !mayBeReason(Event{Object: node.Object}) {
		selector["type"] = corev1.EventTypeWarning
	}
	namespace := cmp.Or(node.Object.Namespace, metav1.NamespaceDefault)
	list, err := s.core.Events(namespace).List(ctx, metav1.ListOptions{FieldSelector: selector.String()})
	switch {
	case apierrors.IsForbidden(err):
		s.note(display.Note{Verb: "list", Resource: events.plural, Namespace: namespace})
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("listing the events of %s: %w", node.Object, err)
	}
	return sumUp(display.Map(list.Items, func(entry corev1.Event) Event { return eventOf(&entry) })), nil
}

// sumUp combines events with the same reason into one with the message of the latest, the time of the earliest, and the
// total count. Latest reasons come first.
func sumUp(found []Event) []display.Reason {
	slices.SortStableFunc(found, func(a, b Event) int { return b.Time.Compare(a.Time) })
	var reasons []display.Reason
	position := map[string]int{}
	for _, event := range found {
		if restates(event) {
			continue
		}
		at, seen := position[event.Reason]
		if !seen {
			if len(reasons) == maxEventReasons {
				continue
			}
			at = len(reasons)
			position[event.Reason] = at
			reasons = append(reasons, display.Reason{Source: display.SourceEvent, Text: joined(event.Reason, event.Message), Since: event.First})
		}
		reasons[at].Count += event.Count
		if event.First.Before(reasons[at].Since) {
			reasons[at].Since = event.First
		}
	}
	return reasons
}

// restates reports whether an event of a kubelet only repeats the state of the container, which is more precise.
func restates(event Event) bool {
	return event.Reason == "BackOff" || event.Reason == "Failed" && strings.HasPrefix(event.Message, "Error: ")
}

// crash is one end of a container.
type crash struct {
	pod       string
	uid       apitypes.UID
	container string
	at        time.Time
}

// line is the last log line before a crash.
type line struct {
	reasons []display.Reason
	note    *display.Note
	// until is when to read it again; zero if never.
	until time.Time
	used  bool
}

// lastLine returns the last line in the log of a crashed container, if there is one. It reads each line once.
func (s *Survey) lastLine(ctx context.Context, namespace string, said statement) []display.Reason {
	s.mu.Lock()
	known := s.lines[said.crash]
	s.mu.Unlock()
	if known == nil || !known.until.IsZero() && time.Now().After(known.until) {
		known = s.readLine(ctx, namespace, said)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	known.used = true
	s.lines[said.crash] = known
	if known.note != nil {
		s.notes.Insert(*known.note)
	}
	return known.reasons
}

// forgetLines drops the lines that the last report does not contain.
func (s *Survey) forgetLines() {
	for of, line := range s.lines {
		if !line.used {
			delete(s.lines, of)
		}
		line.used = false
	}
}

func (s *Survey) readLine(ctx context.Context, namespace string, said statement) *line {
	lines := int64(1)
	raw, err := s.core.Pods(namespace).GetLogs(said.pod, &corev1.PodLogOptions{
		Container: said.container, Previous: said.previous, TailLines: &lines, LimitBytes: new(int64(maxLastLine)),
	}).DoRaw(ctx)
	text := oneLine(string(raw))
	switch {
	case apierrors.IsForbidden(err):
		return &line{note: &display.Note{Verb: "get", Resource: podLogs, Namespace: namespace}, until: time.Now().Add(relook)}
	case err != nil:
		// The node may be unreachable, and the log of an earlier run may be gone. The other reasons are shown
		// nevertheless.
		text = joined("the log of container "+said.container+" cannot be read", err.Error())
		return &line{reasons: []display.Reason{{Source: display.SourceLog, Text: text}}, until: time.Now().Add(relook)}
	case text == "":
		return &line{}
	}
	text = fmt.Sprintf("last log line of container %s: %s", said.container, text)
	return &line{reasons: []display.Reason{{Source: display.SourceLog, Text: text, Since: said.at}}}
}

const (
	podLogs = "pods/log"
	// maxLastLine limits the bytes of the last line of a log.
	maxLastLine = 4096
)

func joined(text, more string) string {
	if more = oneLine(more); more != "" {
		text += ": " + more
	}
	return text
}

// Explainer finds out why objects are not ready while an operation waits for them. It sends no requests for objects
// that were awaited for less than a second, nor for CustomResourceDefinitions. It is safe for concurrent use.
type Explainer struct {
	options Options
	tell    func(reasons map[display.Key]string)
	stop    context.CancelFunc
	running sync.WaitGroup

	mu      sync.Mutex
	awaited map[display.Key]awaited
}

// awaited is an object that an operation waits for.
type awaited struct {
	item  *reconciler.InventoryItem
	since time.Time
}

const (
	// explainAfter is how long an object is awaited before its reasons are read: most become ready earlier.
	explainAfter = time.Second
	// explainPause is the minimum time between two looks, or the duration of a look if that is longer.
	explainPause = 3 * time.Second
)

// NewExplainer starts an Explainer, which the caller closes. Options.Items is ignored. It calls tell repeatedly, but
// not concurrently, with the reasons of the awaited objects. Errors of requests are not reported, because another look
// follows.
func NewExplainer(options Options, tell func(reasons map[display.Key]string)) *Explainer {
	ctx, stop := context.WithCancel(context.Background())
	e := &Explainer{options: options, tell: tell, stop: stop, awaited: map[display.Key]awaited{}}
	e.running.Go(func() { e.run(ctx) })
	return e
}

// Close stops the requests, and returns when tell will not be called again.
func (e *Explainer) Close() {
	e.stop()
	e.running.Wait()
}

// Await sets the awaited objects. It does not block.
func (e *Explainer) Await(items []*reconciler.InventoryItem) {
	e.mu.Lock()
	defer e.mu.Unlock()
	before := e.awaited
	e.awaited = map[display.Key]awaited{}
	for _, item := range items {
		if key := display.KeyOf(item); key.GroupKind != definitions {
			e.awaited[key] = awaited{item: item, since: cmp.Or(before[key].since, time.Now())}
		}
	}
}

// due returns the objects whose reasons to read, in order.
func (e *Explainer) due() []*reconciler.InventoryItem {
	e.mu.Lock()
	defer e.mu.Unlock()
	var items []*reconciler.InventoryItem
	for _, a := range e.awaited {
		if time.Since(a.since) >= explainAfter {
			items = append(items, a.item)
		}
	}
	slices.SortFunc(items, func(a, b *reconciler.InventoryItem) int {
		return strings.Compare(display.Text(a), display.Text(b))
	})
	return items[:min(len(items), MaxExplained)]
}

func (e *Explainer) run(ctx context.Context) {
	for pause := explainAfter / 2; ; {
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return
		}
		pause = explainAfter / 2
		if items := e.due(); len(items) > 0 {
			begun := time.Now()
			e.look(ctx, items)
			pause = max(explainPause, time.Since(begun))
		}
	}
}

// look reads the reasons and passes them to tell; it does nothing if they cannot be read.
func (e *Explainer) look(ctx context.Context, items []*reconciler.InventoryItem) {
	options := e.options
	options.Items, options.Reasons = items, MainReasons
	report, err := Tree(ctx, options)
	if err != nil {
		return
	}
	reasons := map[display.Key]string{}
	for _, node := range report.Nodes {
		if reason := Reason(node); reason != "" {
			reasons[display.KeyOf(node.Item)] = reason
		}
	}
	if ctx.Err() == nil {
		e.tell(reasons)
	}
}

// Reason returns why an object is not ready, according to the lowest object with a reason, which it names; empty if
// there is none.
func Reason(root *display.Node) string {
	node, text := lowestReason(root, root)
	if node == nil || node == root {
		return text
	}
	return node.Object.Kind + " " + node.Object.Name + ": " + text
}

// lowestReason returns the lowest object with a reason that is more than that it is not ready, and that reason. The
// message of the root already contains its finalizers.
func lowestReason(node, root *display.Node) (*display.Node, string) {
	for _, child := range node.Children {
		if child.IsReady() {
			continue
		}
		if at, text := lowestReason(child, root); at != nil {
			return at, text
		}
	}
	for _, reason := range node.Why {
		if !reason.Vague && (node != root || !strings.HasPrefix(reason.Text, isBeingDeleted)) {
			return node, reason.Text
		}
	}
	return nil, ""
}
