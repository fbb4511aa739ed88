// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/component-operator/runtime/pkg/component/internal/outcomes"
	"github.com/component-operator/runtime/pkg/component/internal/resource"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/types"
)

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
			want:    decision{verdict: verdict{state: StatePending, reason: ReadyConditionReasonSuspended, message: "suspended"}},
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
