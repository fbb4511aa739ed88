// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package live

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/component-operator/runtime/clm/internal/display"
	"github.com/component-operator/runtime/pkg/status"
)

// maxExplained is the maximum number of pods of one owner that are explained: they mostly fail for the same reason.
const maxExplained = 3

// explain adds the reasons to all nodes that are not ready.
func (s *survey) explain(ctx context.Context, roots []*display.Node) error {
	var unready []*display.Node
	left := s.MaxExplained
	for _, root := range roots {
		if s.MaxExplained > 0 && !root.IsReady() {
			if left == 0 {
				continue
			}
			left--
		}
		root.Walk(func(node *display.Node) {
			var explained int
			for _, child := range node.Children {
				isPod := child.Object.Key().GroupKind == pods.GroupKind()
				// Failed pods remain after others have succeeded.
				isPast := isPod && child.Status == status.FailedStatus && node.IsReady()
				if child.IsReady() || isPast || isPod && explained == maxExplained {
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
	return each(ctx, unready, s.explainOne)
}

// explainOne orders the reasons from specific to vague: the state of the object itself, then events about it, and only
// if there is nothing else, what merely restates the status.
func (s *survey) explainOne(ctx context.Context, node *display.Node) error {
	var vague []display.Reason
	if node.Object.Key().GroupKind == pods.GroupKind() {
		pod := &corev1.Pod{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(node.Live.Object, pod); err == nil {
			for _, f := range status.PodFindings(pod) {
				reason := display.Reason{Source: display.Source(f.Source), Text: oneLine(joined(f.Text, f.Output)), Since: f.Since, Vague: f.Vague}
				if f.Vague {
					vague = append(vague, reason)
					continue
				}
				node.Why = append(node.Why, reason)
				if f.Crashed != "" && !s.SkipLogs {
					node.Why = append(node.Why, s.lastLine(ctx, pod, f)...)
				}
			}
		}
	} else if node.Object.Key().GroupKind != deployments.GroupKind() || len(node.Children) == 0 {
		// A Deployment repeats the conditions of its ReplicaSets.
		node.Why = conditionReasons(node.Live, node.Message)
	}
	if reason, ok := deletionReason(node.Live); ok {
		node.Why = slices.Insert(node.Why, 0, reason)
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

// isBeingDeleted is how the reason for an object that is terminating begins.
const isBeingDeleted = "is being deleted"

// deletionReason says how long an object has been terminating, and which finalizers hold it.
func deletionReason(live *unstructured.Unstructured) (display.Reason, bool) {
	deleted := live.GetDeletionTimestamp()
	if deleted == nil {
		return display.Reason{}, false
	}
	reason := display.Reason{Source: display.SourceStatus, Text: isBeingDeleted, Since: deleted.Time}
	if finalizers := slices.Sorted(slices.Values(live.GetFinalizers())); len(finalizers) > 0 {
		reason.Text += ", blocked by finalizers: " + strings.Join(finalizers, ", ")
	}
	return reason, true
}

// bad are the conditions that indicate a problem if they are True; all others do if they are False.
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

// controlSequence matches terminal control sequences, such as colours.
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
