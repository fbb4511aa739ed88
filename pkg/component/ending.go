// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/component-operator/runtime/pkg/component/internal/outcomes"
	"github.com/component-operator/runtime/pkg/component/internal/queue"
	"github.com/component-operator/runtime/pkg/component/internal/resource"
	"github.com/component-operator/runtime/pkg/component/internal/texts"
	"github.com/component-operator/runtime/pkg/reconciler"
)

// ending has the steps after the phases, whatever their outcome.
type ending struct{ *pass }

// liftBarriers removes barriers if the pass did not reach the dependents, so that instances of types whose deletion has begun can be created again
// until it continues.
func (e ending) liftBarriers(ctx context.Context, o outcomes.Outcome) outcomes.Outcome {
	target := e.destination.Target()
	if e.engaged || target == nil || o.Kind == outcomes.Gone || o.Kind == outcomes.Abandoned ||
		!slices.ContainsFunc(e.status.Inventory, func(item *reconciler.InventoryItem) bool { return item.Barrier != "" }) {
		return o
	}
	inventory, err := target.Engine.LiftBarriers(ctx, reconciler.DeleteRequest{Owner: e.owner()})
	e.status.Inventory = inventory
	if err != nil && o.Kind != outcomes.Error {
		return outcomes.Of(err)
	}
	return o
}

// keepRecord plans how to record the pass's changes of the inventory.
func (e ending) keepRecord(ctx context.Context, o outcomes.Outcome) outcomes.Outcome {
	if o.Kind == outcomes.Gone || o.Kind == outcomes.Abandoned {
		return o
	}
	o.Message += e.record.Note()
	if err := e.record.Keep(ctx); err != nil && o.Kind != outcomes.Error {
		return outcomes.Of(err)
	}
	return o
}

// conclude writes the status, reports the outcome, and returns when the next pass is due.
func (e ending) conclude(ctx context.Context, o outcomes.Outcome) (ctrl.Result, error) {
	switch o.Kind {
	case outcomes.Gone:
		e.leave(e.key)
		return ctrl.Result{}, nil
	case outcomes.Abandoned:
		e.log.Info("reconciliation ended early", "reason", o.Message)
		return ctrl.Result{RequeueAfter: abandonedDelay}, nil
	case outcomes.Continue, outcomes.Ready, outcomes.Progressing, outcomes.Failed, outcomes.Suspended, outcomes.Retriable,
		outcomes.Refused, outcomes.Error, outcomes.Blocked, outcomes.Deleting:
	}
	now := e.options.Clock.Now()
	d := decide(o, e.history(), e.settings.timing, now)
	e.memory.refusals++
	if o.Kind != outcomes.Refused {
		e.memory.refusals = 0
	}
	e.note(d, metav1.NewTime(now))
	err := e.record.Save(ctx)
	switch {
	case resource.IsRejected(err):
		e.log.Error(err, "the status of the component cannot be written")
		e.warn("StatusRejected", texts.Bound(err.Error()))
		return e.requeue(outcomes.Backoff(e.memory.resource.Rejected(), e.settings.timing.requeue)), nil
	case outcomes.Of(err).Kind == outcomes.Abandoned:
		return e.conclude(ctx, outcomes.Of(err))
	case err != nil:
		return ctrl.Result{}, err
	}
	e.announcer.verdict(e.subject, e.before, d.verdict)
	e.announcer.measure(e.series(e.key), e.status)
	if d.err != nil {
		return ctrl.Result{}, d.err
	}
	return e.requeue(d.requeue), nil
}

// requeue schedules the next pass after a delay; zero means none. A short delay continues work in progress. Passes without a conclusion keep their
// priority.
func (e ending) requeue(delay time.Duration) ctrl.Result {
	priority := queue.PriorityPeriodic
	if delay < e.settings.timing.requeue {
		priority = queue.PriorityWoken
	}
	return ctrl.Result{RequeueAfter: jittered(delay), Priority: &priority}
}

func (e ending) history() history {
	h := history{deleting: e.deleting, refusals: e.memory.refusals}
	if e.status.ProcessingSince != nil {
		h.since = e.status.ProcessingSince.Time
	}
	return h
}

// note writes a decision into the status in memory.
func (e ending) note(d decision, now metav1.Time) {
	switch {
	case d.since.IsZero():
		e.status.ProcessingSince = nil
	case e.status.ProcessingSince == nil || !e.status.ProcessingSince.Time.Equal(d.since):
		e.status.ProcessingSince = &metav1.Time{Time: d.since}
	}
	e.status.LastObservedAt = &now
	e.status.setState(d.verdict, now)
}

// jittered adds 1 to 5 percent, so that components that were created together spread out.
func jittered(delay time.Duration) time.Duration {
	return delay + delay/100*time.Duration(1+rand.IntN(5))
}
