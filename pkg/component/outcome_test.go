// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"errors"
	"fmt"
	"testing"
	"time"

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
		outcome outcome
		history history
		want    decision
	}{
		{
			reason:  "a ready component is looked at after the requeue interval, and the clock stops",
			outcome: outcome{kind: outcomeReady, message: "fine"},
			history: history{since: ago(time.Minute)},
			want:    decision{verdict: verdict{state: StateReady, reason: ReadyConditionReasonReady, message: "fine"}, requeue: 10 * time.Minute},
		}, {
			reason:  "readiness counts even if it comes after the timeout",
			outcome: outcome{kind: outcomeReady, message: "fine"},
			history: history{since: ago(time.Hour)},
			want:    decision{verdict: verdict{state: StateReady, reason: ReadyConditionReasonReady, message: "fine"}, requeue: 10 * time.Minute},
		}, {
			reason:  "the engine may want to look at a ready component earlier",
			outcome: outcome{kind: outcomeReady, message: "fine", wake: time.Minute},
			want:    decision{verdict: verdict{state: StateReady, reason: ReadyConditionReasonReady, message: "fine"}, requeue: time.Minute},
		}, {
			reason:  "but not later",
			outcome: outcome{kind: outcomeReady, message: "fine", wake: time.Hour},
			want:    decision{verdict: verdict{state: StateReady, reason: ReadyConditionReasonReady, message: "fine"}, requeue: 10 * time.Minute},
		}, {
			reason:  "the first pass that is not ready starts the clock",
			outcome: outcome{kind: outcomeProgressing, message: "soon"},
			want:    decision{verdict: verdict{state: StateProcessing, reason: ReadyConditionReasonProcessing, message: "soon"}, since: now, requeue: 10 * time.Minute},
		}, {
			reason:  "later ones leave it alone, and the timeout is not slept through",
			outcome: outcome{kind: outcomeProgressing, message: "soon"},
			history: history{since: ago(29 * time.Minute)},
			want:    decision{verdict: verdict{state: StateProcessing, reason: ReadyConditionReasonProcessing, message: "soon"}, since: ago(29 * time.Minute), requeue: time.Minute},
		}, {
			reason:  "progress that takes too long is an error, and goes on",
			outcome: outcome{kind: outcomeProgressing, message: "soon", wake: time.Second},
			history: history{since: ago(30 * time.Minute)},
			want: decision{
				verdict: verdict{state: StateError, reason: ReadyConditionReasonTimeout, message: "not ready within 30m0s: soon"},
				since:   ago(30 * time.Minute), requeue: time.Second,
			},
		}, {
			reason:  "a failed dependent is an error at once",
			outcome: outcome{kind: outcomeFailed, message: "Job failed"},
			want:    decision{verdict: verdict{state: StateError, reason: ReadyConditionReasonError, message: "Job failed"}, since: now, requeue: 10 * time.Minute},
		}, {
			reason:  "a suspended component waits for nobody, and the clock stops",
			outcome: outcome{kind: outcomeSuspended, message: "suspended"},
			history: history{since: ago(time.Hour)},
			want:    decision{verdict: verdict{state: StatePending, reason: ReadyConditionReasonSuspended, message: "suspended"}},
		}, {
			reason:  "what is expected to succeed later is retried after the retry interval",
			outcome: outcome{kind: outcomeRetriable, message: "not yet"},
			want:    decision{verdict: verdict{state: StatePending, reason: ReadyConditionReasonRetrying, message: "not yet"}, since: now, requeue: 2 * time.Minute},
		}, {
			reason:  "or after its own delay",
			outcome: outcome{kind: outcomeRetriable, message: "not yet", retryAfter: new(5 * time.Second)},
			want:    decision{verdict: verdict{state: StatePending, reason: ReadyConditionReasonRetrying, message: "not yet"}, since: now, requeue: 5 * time.Second},
		}, {
			reason:  "a delay of zero must not stop the retries, nor make them a hot loop",
			outcome: outcome{kind: outcomeRetriable, message: "not yet", retryAfter: new(time.Duration(0))},
			want:    decision{verdict: verdict{state: StatePending, reason: ReadyConditionReasonRetrying, message: "not yet"}, since: now, requeue: time.Second},
		}, {
			reason:  "a retry that takes too long stays pending, with another reason",
			outcome: outcome{kind: outcomeRetriable, message: "not yet"},
			history: history{since: ago(time.Hour)},
			want: decision{
				verdict: verdict{state: StatePending, reason: ReadyConditionReasonTimeout, message: "not ready within 30m0s: not yet"},
				since:   ago(time.Hour), requeue: 2 * time.Minute,
			},
		}, {
			reason:  "refused input is not retried hotly",
			outcome: outcome{kind: outcomeRefused, message: "bad"},
			want:    decision{verdict: verdict{state: StateError, reason: ReadyConditionReasonError, message: "bad"}, since: now, requeue: 5 * time.Second},
		}, {
			reason:  "but more and more seldom",
			outcome: outcome{kind: outcomeRefused, message: "bad"},
			history: history{since: now, refusals: 3},
			want:    decision{verdict: verdict{state: StateError, reason: ReadyConditionReasonError, message: "bad"}, since: now, requeue: 40 * time.Second},
		}, {
			reason:  "down to the requeue interval",
			outcome: outcome{kind: outcomeRefused, message: "bad"},
			history: history{since: now, refusals: 1000},
			want:    decision{verdict: verdict{state: StateError, reason: ReadyConditionReasonError, message: "bad"}, since: now, requeue: 10 * time.Minute},
		}, {
			reason:  "an error starts the clock, too",
			outcome: outcome{kind: outcomeError, message: "boom", err: boom},
			want:    decision{verdict: verdict{state: StateError, reason: ReadyConditionReasonError, message: "boom", retried: true}, since: now, err: boom},
		}, {
			reason:  "a component that fails permanently reaches the timeout",
			outcome: outcome{kind: outcomeError, message: "boom", err: boom},
			history: history{since: ago(time.Hour)},
			want: decision{
				verdict: verdict{state: StateError, reason: ReadyConditionReasonTimeout, message: "not ready within 30m0s: boom", retried: true},
				since:   ago(time.Hour), err: boom,
			},
		}, {
			reason:  "a blocked deletion waits for an event; there is no timeout for deletions",
			outcome: outcome{kind: outcomeBlocked, message: "blocked"},
			history: history{deleting: true, since: ago(time.Hour)},
			want:    decision{verdict: verdict{state: StateDeleting, reason: ReadyConditionReasonDeletionBlocked, message: "blocked"}, requeue: 10 * time.Minute},
		}, {
			reason:  "dependents are going",
			outcome: outcome{kind: outcomeDeleting, message: "going", wake: 3 * time.Second},
			history: history{deleting: true},
			want:    decision{verdict: verdict{state: StateDeleting, reason: ReadyConditionReasonDeletionProcessing, message: "going"}, requeue: 3 * time.Second},
		}, {
			reason:  "a retry during the deletion",
			outcome: outcome{kind: outcomeRetriable, message: "not yet"},
			history: history{deleting: true},
			want:    decision{verdict: verdict{state: StateDeletionPending, reason: ReadyConditionReasonDeletionRetrying, message: "not yet"}, requeue: 2 * time.Minute},
		}, {
			reason:  "an error during the deletion",
			outcome: outcome{kind: outcomeError, message: "boom", err: boom},
			history: history{deleting: true},
			want:    decision{verdict: verdict{state: StateError, reason: ReadyConditionReasonError, message: "boom", retried: true}, err: boom},
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
		want   outcomeKind
		delay  *time.Duration
	}{
		{reason: "no error", want: outcomeContinue},
		{reason: "any error", err: errors.New("boom"), want: outcomeError},
		{reason: "a retriable error deep in the chain", err: fmt.Errorf("a: %w", types.NewRetriableError(fmt.Errorf("b"), &delay)), want: outcomeRetriable, delay: &delay},
		{reason: "a retriable error among others", err: errors.Join(errors.New("a"), types.NewRetriableError(errors.New("b"), nil)), want: outcomeRetriable},
		{reason: "refused input", err: fmt.Errorf("applying: %w", &reconciler.RefusedError{Problems: []string{"bad"}}), want: outcomeRefused},
		{reason: "somebody else was faster", err: fmt.Errorf("saving: %w", errAbandoned), want: outcomeAbandoned},
	} {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			got := outcomeOf(test.err)
			if got.kind != test.want || got.retryAfter != test.delay {
				t.Errorf("want kind %d and delay %v, got %+v", test.want, test.delay, got)
			}
		})
	}
}
