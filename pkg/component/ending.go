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

// ending is what follows the phases, however they ended.
type ending struct{ *pass }

// liftBarriers ends a pass that did not come to the dependents: instances of types whose deletion has begun can be created again until it
// goes on.
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

// keepRecord records what the pass has changed in the inventory, if that is possible.
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

// conclude records how the pass ended, tells about it, and says when the next one is due.
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

// requeue has the next pass begin after the delay, zero meaning never, even if nothing happens. An early one goes on with
// something that is under way. Passes that come to no conclusion are repeated with the priority that they have.
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

// note puts a decision into the status.
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

// jittered adds 1 to 5 percent, so that components that were created together do not stay together.
func jittered(delay time.Duration) time.Duration {
	return delay + delay/100*time.Duration(1+rand.IntN(5))
}
