// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/component-operator/runtime/pkg/component/internal/outcomes"
	"github.com/component-operator/runtime/pkg/component/internal/resource"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/types"
)

func TestConditionsFollowTheState(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		reason  string
		verdict verdict
		// want are the values of Ready, Reconciling and Stalled.
		want [3]ConditionStatus
	}{
		{"ready", verdict{state: StateReady, reason: ReadyConditionReasonReady, message: ""}, [3]ConditionStatus{"True", "False", "False"}},
		{"on its way", verdict{state: StateProcessing, reason: ReadyConditionReasonProcessing, message: ""}, [3]ConditionStatus{"Unknown", "True", "False"}},
		{"nothing goes on while suspended", verdict{state: StatePending, reason: ReadyConditionReasonSuspended, message: ""}, [3]ConditionStatus{"Unknown", "False", "False"}},
		{"failed", verdict{state: StateError, reason: ReadyConditionReasonError, message: ""}, [3]ConditionStatus{"False", "False", "True"}},
		{"failed, and tried again", verdict{state: StateError, reason: ReadyConditionReasonError, retried: true}, [3]ConditionStatus{"False", "True", "False"}},
		{"tried again for too long", verdict{state: StateError, reason: ReadyConditionReasonTimeout, retried: true}, [3]ConditionStatus{"False", "False", "True"}},
		{"being deleted", verdict{state: StateDeleting, reason: ReadyConditionReasonDeletionProcessing, message: ""}, [3]ConditionStatus{"Unknown", "True", "False"}},
		{"a state of somebody else's", verdict{state: "Strange", reason: "", message: ""}, [3]ConditionStatus{"Unknown", "Unknown", "Unknown"}},
	} {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			status := &Status{}
			status.setState(test.verdict, metav1.Now())
			got := [3]ConditionStatus{
				status.condition(ConditionTypeReady).Status, status.condition(ConditionTypeReconciling).Status, status.condition(ConditionTypeStalled).Status,
			}
			diff(t, "conditions", test.want, got)
		})
	}
}

// TestNextAttempt pins where the time of the next attempt is: not in the message of Ready, which changes only if the
// situation does.
func TestNextAttempt(t *testing.T) {
	t.Parallel()
	now := metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	for _, test := range []struct {
		reason                      string
		verdict                     verdict
		ready, reconciling, stalled string
	}{
		{"an error that is retried", verdict{state: StateError, reason: ReadyConditionReasonError, message: "boom", retried: true, next: time.Minute}, "Boom", "Boom; the next attempt is at 2026-01-02T03:05:05Z", ""},
		{"a refusal", verdict{state: StateError, reason: ReadyConditionReasonError, message: "bad", next: 5 * time.Second}, "Bad", "", "Bad; the next attempt is at 2026-01-02T03:04:10Z"},
		{"progress", verdict{state: StateProcessing, reason: ReadyConditionReasonProcessing, message: "soon"}, "Soon", "Soon", ""},
	} {
		status := &Status{}
		status.setState(test.verdict, now)
		got := []string{status.condition(ConditionTypeReady).Message, status.condition(ConditionTypeReconciling).Message, status.condition(ConditionTypeStalled).Message}
		diff(t, test.reason, []string{test.ready, test.reconciling, test.stalled}, got)
	}
}

func TestTransitionTimes(t *testing.T) {
	t.Parallel()
	at := func(minute int) metav1.Time { return metav1.NewTime(time.Date(2026, 1, 1, 0, minute, 0, 0, time.UTC)) }
	status := &Status{Conditions: []Condition{{Type: "Other", Status: ConditionTrue}}}
	status.setState(verdict{state: StateProcessing, reason: ReadyConditionReasonProcessing, message: "a"}, at(1))
	status.setState(verdict{state: StateProcessing, reason: ReadyConditionReasonProcessing, message: "b"}, at(2))
	diff(t, "time of a condition whose message changed only", at(1), *status.condition(ConditionTypeReady).LastTransitionTime)
	status.setState(verdict{state: StateReady, reason: ReadyConditionReasonReady, message: "c"}, at(3))
	diff(t, "time of a condition that changed", at(3), *status.condition(ConditionTypeReady).LastTransitionTime)
	diff(t, "time of a condition that did not", at(1), *status.condition(ConditionTypeStalled).LastTransitionTime)
	diff(t, "condition of somebody else", Condition{Type: "Other", Status: ConditionTrue}, status.Conditions[0])
	state, reason, message := status.GetState()
	diff(t, "state", []string{"Ready", "Ready", "C"}, []string{string(state), reason, message})
	if !status.IsReady() {
		t.Error("want it to be ready")
	}
}

func notice(kind, name, message string) reconciler.Notice {
	item := &reconciler.InventoryItem{NameInfo: reconciler.NameInfo{Namespace: "demo", Name: name}}
	item.SetGroupVersionKind(schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: kind})
	return reconciler.Notice{Object: item, Message: message}
}

func TestWaitMessages(t *testing.T) {
	t.Parallel()
	many := make([]reconciler.Notice, 100)
	for i := range many {
		many[i] = notice("Deployment", fmt.Sprintf("web-%02d", i), "1/3 replicas available")
	}
	for _, test := range []struct {
		reason string
		result reconciler.Result
		want   string
	}{
		{
			reason: "what is awaited is named, sorted",
			result: reconciler.Result{Wave: 1, WaveSize: 7, Waits: []reconciler.Notice{notice("StatefulSet", "db", "running"), notice("Deployment", "web", "1/3 replicas available")}},
			want:   "2 of 7 dependents of wave 1 not ready: Deployment demo/web: 1/3 replicas available; StatefulSet demo/db: running",
		}, {
			reason: "there may be more waits than members of the wave",
			result: reconciler.Result{Wave: 1, Waits: []reconciler.Notice{notice("Deployment", "web", "is being deleted")}},
			want:   "1 of 1 dependent of wave 1 not ready: Deployment demo/web: is being deleted",
		}, {
			reason: "nothing is known about what is awaited",
			result: reconciler.Result{Wave: 3, WaveSize: 2},
			want:   "wave 3 is being processed",
		}, {
			reason: "a long list is cut between items",
			result: reconciler.Result{WaveSize: 100, Waits: many},
			want:   "100 of 100 dependents of wave 0 not ready: Deployment demo/web-00: 1/3 replicas available; ",
		},
	} {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			got := outcomes.Waves(nil).Waits(test.result, "ready")
			if !strings.HasPrefix(got, test.want) || (len(test.result.Waits) < 10 && got != test.want) {
				t.Errorf("want %q, got %q", test.want, got)
			}
			if len(got) > outcomes.MaxMessageLength {
				t.Errorf("the message has %d bytes", len(got))
			}
			if len(test.result.Waits) > 10 && !strings.HasSuffix(got, "available … and 82 more") {
				t.Errorf("want the rest to be counted, got %q", got)
			}
		})
	}
}

func TestDecide(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	intervals := timing{requeue: 10 * time.Minute, retry: 2 * time.Minute, timeout: 30 * time.Minute}
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	boom := errors.New("boom")
	for _, test := range []struct {
		reason  string
		outcome outcomes.Outcome
		history history
		want    decision
	}{
		{
			reason:  "a ready component is looked at after the requeue interval, and the clock stops",
			outcome: outcomes.Outcome{Kind: outcomes.Ready, Message: "fine"},
			history: history{since: ago(time.Minute)},
			want:    decision{verdict: verdict{state: StateReady, reason: ReadyConditionReasonReady, message: "fine"}, requeue: 10 * time.Minute},
		}, {
			reason:  "later ones leave it alone, and the timeout is not slept through",
			outcome: outcomes.Outcome{Kind: outcomes.Progressing, Message: "soon"},
			history: history{since: ago(29 * time.Minute)},
			want:    decision{verdict: verdict{state: StateProcessing, reason: ReadyConditionReasonProcessing, message: "soon"}, since: ago(29 * time.Minute), requeue: time.Minute},
		}, {
			reason:  "progress that takes too long is an error, and goes on",
			outcome: outcomes.Outcome{Kind: outcomes.Progressing, Message: "soon", Wake: time.Second},
			history: history{since: ago(30 * time.Minute)},
			want: decision{
				verdict: verdict{state: StateError, reason: ReadyConditionReasonTimeout, message: "not ready within 30m0s: soon"},
				since:   ago(30 * time.Minute), requeue: time.Second,
			},
		}, {
			reason:  "a failed dependent is an error at once",
			outcome: outcomes.Outcome{Kind: outcomes.Failed, Message: "Job failed"},
			want:    decision{verdict: verdict{state: StateError, reason: ReadyConditionReasonError, message: "Job failed"}, since: now, requeue: 10 * time.Minute},
		}, {
			reason:  "a suspended component waits for nobody, and the clock stops",
			outcome: outcomes.Outcome{Kind: outcomes.Suspended, Message: "suspended"},
			history: history{since: ago(time.Hour)},
			want:    decision{verdict: verdict{state: StatePending, reason: ReadyConditionReasonSuspended, message: "suspended"}, requeue: 10 * time.Minute},
		}, {
			reason:  "held deletions wait for a user as long as it takes, and everything else goes on",
			outcome: outcomes.Outcome{Kind: outcomes.Held, Message: "held"},
			history: history{since: ago(time.Hour)},
			want:    decision{verdict: verdict{state: StatePending, reason: ReadyConditionReasonDeletionsHeld, message: "held"}, requeue: 10 * time.Minute},
		}, {
			reason:  "what is expected to succeed later is retried after the retry interval",
			outcome: outcomes.Outcome{Kind: outcomes.Retriable, Message: "not yet"},
			want:    decision{verdict: verdict{state: StatePending, reason: ReadyConditionReasonRetrying, message: "not yet"}, since: now, requeue: 2 * time.Minute},
		}, {
			reason:  "a delay of zero must not stop the retries, nor make them a hot loop",
			outcome: outcomes.Outcome{Kind: outcomes.Retriable, Message: "not yet", RetryAfter: new(time.Duration(0))},
			want:    decision{verdict: verdict{state: StatePending, reason: ReadyConditionReasonRetrying, message: "not yet"}, since: now, requeue: time.Second},
		}, {
			reason:  "but at least once a minute, because what was repaired must not wait for long",
			outcome: outcomes.Outcome{Kind: outcomes.Refused, Message: "bad"},
			history: history{since: now, refusals: 1000},
			want:    decision{verdict: verdict{state: StateError, reason: ReadyConditionReasonError, message: "bad", next: time.Minute}, since: now, requeue: time.Minute},
		}, {
			reason:  "and is retried at least once a minute",
			outcome: outcomes.Outcome{Kind: outcomes.Error, Message: "boom", Err: boom},
			history: history{since: now, errors: 1000},
			want:    decision{verdict: verdict{state: StateError, reason: ReadyConditionReasonError, message: "boom", retried: true, next: time.Minute}, since: now, err: boom},
		}, {
			reason:  "a component that fails permanently reaches the timeout",
			outcome: outcomes.Outcome{Kind: outcomes.Error, Message: "boom", Err: boom},
			history: history{since: ago(time.Hour)},
			want: decision{
				verdict: verdict{state: StateError, reason: ReadyConditionReasonTimeout, message: "not ready within 30m0s: boom", retried: true, next: time.Second},
				since:   ago(time.Hour), err: boom,
			},
		}, {
			reason:  "a blocked deletion waits for an event; there is no timeout for deletions",
			outcome: outcomes.Outcome{Kind: outcomes.Blocked, Message: "blocked"},
			history: history{deleting: true, since: ago(time.Hour)},
			want:    decision{verdict: verdict{state: StateDeleting, reason: ReadyConditionReasonDeletionBlocked, message: "blocked"}, requeue: 10 * time.Minute},
		}, {
			reason:  "an error during the deletion",
			outcome: outcomes.Outcome{Kind: outcomes.Error, Message: "boom", Err: boom},
			history: history{deleting: true},
			want:    decision{verdict: verdict{state: StateError, reason: ReadyConditionReasonError, message: "boom", retried: true, next: time.Second}, err: boom},
		},
	} {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			got := decide(test.outcome, test.history, intervals, now)
			if got != test.want {
				t.Errorf("want %+v\n got %+v", test.want, got)
			}
		})
	}
}

func TestOutcomeOf(t *testing.T) {
	t.Parallel()
	delay := time.Minute
	for _, test := range []struct {
		reason string
		err    error
		want   outcomes.Kind
		delay  *time.Duration
	}{
		{reason: "any error", err: errors.New("boom"), want: outcomes.Error},
		{reason: "a retriable error deep in the chain", err: fmt.Errorf("a: %w", types.NewRetriableError(fmt.Errorf("b"), &delay)), want: outcomes.Retriable, delay: &delay},
		{reason: "refused input", err: fmt.Errorf("applying: %w", &reconciler.RefusedError{Problems: []string{"bad"}}), want: outcomes.Refused},
		{reason: "somebody else was faster", err: fmt.Errorf("saving: %w", resource.ErrChanged), want: outcomes.Abandoned},
	} {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			got := outcomes.Of(test.err)
			if got.Kind != test.want || got.RetryAfter != test.delay {
				t.Errorf("want kind %d and delay %v, got %+v", test.want, test.delay, got)
			}
		})
	}
}
