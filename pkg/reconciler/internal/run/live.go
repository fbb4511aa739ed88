// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"cmp"
	"context"
	"fmt"

	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apitypes "k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/observe"
	"github.com/component-operator/runtime/pkg/cluster"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/decide"
	"github.com/component-operator/runtime/pkg/reconciler/internal/execute"
	"github.com/component-operator/runtime/pkg/reconciler/internal/guard"
	"github.com/component-operator/runtime/pkg/reconciler/internal/prepare"
	"github.com/component-operator/runtime/pkg/status"
	"github.com/component-operator/runtime/pkg/types"
)

// live is the execution that makes the requests. It is safe for concurrent use for different dependents.
type live struct {
	call *Call

	recordAdoptions bool
}

// openInstances looks for objects without a namespace whose type turns out to be namespaced, because it was not served
// when they were prepared, or because its definition changes the scope. They must be prepared again.
func (l *live) openInstances(ctx context.Context, members []*prepare.Object) (placed bool, err error) {
	placed = true
	for _, t := range members {
		if t.Key.Namespace != "" || !l.call.Server.IsNamespaced(t.GVK()) {
			continue
		}
		// The client's knowledge may be outdated. If the server does not answer, the write will fail, too.
		if err := cluster.RenewTypes(ctx, l.call.Server.Client.RESTMapper(), t.Key.Group); err != nil || !l.call.Server.IsNamespaced(t.GVK()) {
			continue
		}
		placed = false
		l.call.Report.Awaits(l.call.Ledger.Of(t), "its type is namespaced in the cluster, and was not known to be")
		l.call.Retry(l.call.Ledger.Of(t))
	}
	if !placed {
		return false, nil
	}
	return true, l.call.Watch(ctx, members, prepare.Instances)
}

func (l *live) endTier([]*prepare.Object) {}

// settle returns the outcome of a dependent that is up to date according to the observer.
func (l *live) settle(t *prepare.Object) (outcome, bool) {
	item := l.call.Ledger.Of(t)
	seen, view := l.call.Server.Observer.Get(t.GVK(), t.Key.Namespace, t.Key.Name)
	if view != observe.Present || l.call.Server.Outdated(t.Key, seen) || item.Phase == inventory.PhaseScheduledForApplication {
		return outcome{}, false
	}
	s := l.call.Paced(t, item, decide.Situation{Owner: l.call.Owner.Label, Exists: true, Seen: seen})
	d := decide.Apply(t, item, s)
	if d.Action != decide.Keep || status.InProgressStatus == seen.Status && isClaim(t.Key) {
		return outcome{}, false
	}
	l.call.Report.RequeueAfter(d.Again)
	return l.settled(t, s), true
}

func (l *live) look(ctx context.Context, item *inventory.Item) (decide.Situation, error) {
	return l.call.Server.Look(ctx, item)
}

func (l *live) lookAgain(ctx context.Context, item *inventory.Item, _ decide.Situation, _ int) (decide.Situation, error) {
	return l.call.Server.Ask(ctx, item)
}

// unsettled turns an error that is expected to go away into an outcome that the call waits for.
func (l *live) unsettled(t *prepare.Object, message string, err error) (outcome, error) {
	item := l.call.Ledger.Of(t)
	if err == nil {
		l.call.Retry(item)
		return outcome{item: item, message: message, unwritten: true}, nil
	}
	if reason, ok := execute.Awaitable(err); ok {
		health := inventory.Notice{Doomed: execute.IsDoomed(err)}
		if t.AwaitsType && cluster.IsNoMatch(err) {
			reason = fmt.Sprintf("its type %s %s is not served", t.GVK().GroupVersion(), t.Key.Kind)
			health.Reason = inventory.NoticeReasonBlocked
		}
		l.call.Retry(item)
		return outcome{item: item, message: reason, health: health, unwritten: true}, nil
	}
	if execute.IsRefusal(err) {
		return outcome{}, &inventory.RefusedError{Problems: []string{fmt.Sprintf("%s: %s", t.Key, execute.RejectionText(t, l.call.Server.Keys.Prefix, err))}, Rejected: true}
	}
	return outcome{}, fmt.Errorf("applying %s: %w", t.Key, err)
}

// settled records the observed status of a dependent, and returns the outcome.
func (l *live) settled(t *prepare.Object, s decide.Situation) outcome {
	item := l.call.Ledger.Of(t)
	item.Status, item.Holder = s.Seen.Status, ""
	if !t.Unawaited {
		l.call.Report.Grades(item, s.Seen.Grade, s.Seen.Message)
	}
	o := l.judged(t, s)
	if l.mayRelease(t, s) {
		o.releasing = &s
	}
	return o
}

// ceded records that a newer sibling has the object, and returns the outcome.
func (l *live) ceded(t *prepare.Object, s decide.Situation, d decide.Decision) outcome {
	item := l.call.Ledger.Of(t)
	item.Holder = s.Holder
	if !s.Exists {
		return outcome{item: item, message: d.Message, unwritten: true}
	}
	item.Status = s.Seen.Status
	return l.judged(t, s)
}

// judged returns the outcome for a dependent whose status is recorded.
func (l *live) judged(t *prepare.Object, s decide.Situation) outcome {
	item := l.call.Ledger.Of(t)
	if !s.Seen.Deadline.IsZero() {
		l.call.Report.RequeueAfter(max(s.Seen.Deadline.Sub(l.call.Server.Clock.Now()), 0) + 1)
	}
	switch {
	case s.Seen.Status == status.CurrentStatus:
		item.Phase = inventory.PhaseReady
		return outcome{item: item, ready: true}
	case t.Unawaited:
		return outcome{item: item, ready: true}
	case s.Seen.Status == status.FailedStatus:
		l.call.Report.Fails(item, s.Seen.Message)
		return outcome{item: item, message: "failed: " + s.Seen.Message, health: healthOf(t, s)}
	default:
		return l.timed(t, outcome{item: item, message: cmp.Or(s.Seen.Message, "status is "+s.Seen.Status.String()), health: healthOf(t, s)})
	}
}

// healthOf returns what is known about the health of a dependent.
func healthOf(t *prepare.Object, s decide.Situation) inventory.Notice {
	return inventory.Notice{Reason: s.Seen.Reason, Grade: s.Seen.Grade, Grace: t.Grace}
}

// timed applies the timeout of a desired object to the outcome for a dependent that is not ready. The timeout no longer
// applies once a dependent has become ready after it was written.
func (l *live) timed(t *prepare.Object, o outcome) outcome {
	ready := o.item.Phase != inventory.PhaseCreating && o.item.Phase != inventory.PhaseUpdating
	if t.ReadyTimeout == 0 || ready || o.item.LastAppliedAt == nil {
		return o
	}
	if left := o.item.LastAppliedAt.Add(t.ReadyTimeout).Sub(l.call.Server.Clock.Now()); left > 0 {
		l.call.Report.RequeueAfter(left)
		return o
	}
	o.message = fmt.Sprintf("not ready within %s: %s", t.ReadyTimeout, o.message)
	if o.overdue = t.Continues; !o.overdue {
		l.call.Report.Fails(o.item, o.message)
	}
	return o
}

// kept returns the outcome for a dependent that is up to date.
func (l *live) kept(ctx context.Context, t *prepare.Object, s decide.Situation) (outcome, error) {
	return l.unlessAwaited(ctx, t, l.settled(t, s), s.Seen.UID)
}

// reported returns the outcome for a dependent whose drift is not corrected. Drift does not make a dependent unready.
func (l *live) reported(t *prepare.Object, s decide.Situation, d decide.Decision) outcome {
	if d.Action == decide.Cede {
		return l.ceded(t, s, d)
	}
	item := l.call.Ledger.Of(t)
	l.call.Report.Drifts(item, d.Message)
	if !s.Exists {
		// An object that stays absent because of its drift policy counts as ready; one that is only created later does
		// not.
		return outcome{item: item, ready: d.Again == 0, message: d.Message, unwritten: true}
	}
	return l.settled(t, s)
}

// awaitEnd waits until a wanted object that others have deleted is gone. It removes our finalizer, which has nothing
// left to protect once the outcome of the object is recorded.
func (l *live) awaitEnd(ctx context.Context, t *prepare.Object, s decide.Situation, d decide.Decision) (outcome, error) {
	item := l.call.Ledger.Of(t)
	if !t.FailsFinally || item.Status != status.FailedStatus {
		item.Status = status.TerminatingStatus
	}
	if l.call.Executor.Holds(s) {
		ended, err := l.endedBefore(ctx, t, s)
		if err != nil {
			return outcome{}, err
		}
		if ended {
			return outcome{item: item, message: d.Message, unwritten: true, releasing: &s}, nil
		}
		if err := l.call.Executor.RemoveFinalizer(ctx, item); err != nil {
			return outcome{}, err
		}
	}
	return outcome{item: item, message: d.Message, keepsBarrier: true, unwritten: true, health: inventory.Notice{Recreating: true}}, retryDeletion(ctx, l.call, item, s)
}

// completed records that the object is gone because it has served its purpose, or has failed.
func (l *live) completed(t *prepare.Object, d decide.Decision) outcome {
	item := l.call.Ledger.Of(t)
	if d.Action == decide.Dismiss {
		decide.RecordFailed(item)
		return l.dismissed(item)
	}
	decide.RecordCompleted(item)
	l.call.Report.Acted(inventory.VerbCompleted, t.ApplyOrder, item, "has finished")
	return outcome{item: item, ready: true}
}

// dismissed returns the outcome for a dependent that has failed and was deleted.
func (l *live) dismissed(item *inventory.Item) outcome {
	item.Status = status.FailedStatus
	const message = "failed, and was deleted"
	l.call.Report.Fails(item, message)
	return outcome{item: item, message: message}
}

func isClaim(key types.ObjectID) bool { return key.Group == "" && key.Kind == "PersistentVolumeClaim" }

// unlessAwaited makes the outcome for a claim ready if the claim waits for a Pod.
func (l *live) unlessAwaited(ctx context.Context, t *prepare.Object, o outcome, uid apitypes.UID) (outcome, error) {
	if o.ready || !isClaim(t.Key) || o.item.Status != status.InProgressStatus {
		return o, nil
	}
	var err error
	o.ready, err = l.awaitsConsumer(ctx, t, o.item, uid)
	return o, err
}

// awaitsConsumer reports whether a claim is not bound because its StorageClass waits until a Pod uses it. Such a claim
// does not hold up its wave, since the Pod may come in a later one. The answer is remembered by the claim's UID,
// because the class of a claim cannot change.
func (l *live) awaitsConsumer(ctx context.Context, t *prepare.Object, item *inventory.Item, seen apitypes.UID) (bool, error) {
	recalled := l.call.Memory.Of(t.Key)
	if answer, ok := recalled.Consumer[seen]; ok {
		return answer, nil
	}
	claim, err := l.call.Server.Get(ctx, item)
	if err != nil {
		return false, err
	}
	class := status.StorageClassOf(claim)
	if !status.IsPendingClaim(claim) || class == "" {
		return false, nil
	}
	storageClass := &storagev1.StorageClass{}
	if err := l.call.Server.Read(func() error { return l.call.Server.Client.Get(ctx, client.ObjectKey{Name: class}, storageClass) }); err != nil {
		if execute.IsNotFound(err) {
			return false, nil
		}
		return false, fmt.Errorf("reading StorageClass %s of %s: %w", class, t.Key, err)
	}
	mode := storageClass.VolumeBindingMode
	answer := mode != nil && *mode == storagev1.VolumeBindingWaitForFirstConsumer
	recalled.Consumer = map[apitypes.UID]bool{claim.GetUID(): answer}
	return answer, nil
}

// recreate deletes the observed object and, if it is gone at once, creates it. It deletes the object only if the API
// server would accept its creation.
func (l *live) recreate(ctx context.Context, t *prepare.Object, s decide.Situation, d decide.Decision) (outcome, bool, error) {
	if err := l.call.Executor.ProbeCreation(ctx, t, l.call.Ledger.Of(t)); err != nil {
		return outcome{}, false, err
	}
	item := l.call.Ledger.Of(t)
	if !prepare.DefinesTypes(t.Key.GroupKind) {
		if again, err := l.mayRecreate(ctx, t, s); again || err != nil {
			return outcome{}, again, err
		}
	}
	gone, held, err := l.requestEnd(ctx, item, s)
	switch {
	case err != nil:
		return outcome{}, false, err
	case held != nil && held.instances != "":
		return outcome{}, false, inventory.NewRefusedError(fmt.Sprintf("%s: %s", t.Key, guard.HeldByInstances(held.instances)))
	case held != nil:
		held.unwritten = true
		return *held, false, nil
	}
	s = decide.Situation{Owner: l.call.Owner.Label, Proven: true, Typed: true}
	if !gone {
		if s, err = l.call.Server.Ask(ctx, item); err != nil {
			return outcome{}, false, err
		}
	}
	if s.Exists && !s.Seen.Deleting {
		return outcome{}, true, nil // others have created it already, which needs another decision
	}
	if s.Exists {
		item.Status = status.TerminatingStatus
		message := "being deleted, to be recreated: " + s.Seen.Message
		return outcome{item: item, message: message, keepsBarrier: true, unwritten: true, health: inventory.Notice{Recreating: true}}, false, nil
	}
	create := l.create
	if gone {
		create = l.write // we have deleted it, so the owner need not confirm
	}
	o, err := create(ctx, t, s, decide.Decision{Action: decide.Create, Verb: d.Verb})
	return o, false, err
}

// mayRecreate returns a *RefusedError if an object must not be recreated. The decision must be repeated (again) if the
// object has changed since it was observed.
func (l *live) mayRecreate(ctx context.Context, t *prepare.Object, s decide.Situation) (again bool, err error) {
	item := l.call.Ledger.Of(t)
	var live *unstructured.Unstructured
	if guard.DependsOnContent(t.Key.GroupKind) {
		live, err = l.call.Server.Get(ctx, item)
		if execute.IsGone(err) || err == nil && live.GetResourceVersion() != s.Seen.ResourceVersion {
			return true, nil
		}
		if err != nil {
			return false, err
		}
	}
	reason, err := l.call.Losses.KeepsFromRecreation(ctx, item, s.Seen.UID, live)
	if err == nil && reason != "" {
		err = inventory.NewRefusedError(fmt.Sprintf("%s: %s", t.Key, reason))
	}
	return false, err
}
