// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/component-operator/runtime/internal/observe"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/decide"
	"github.com/component-operator/runtime/pkg/reconciler/internal/execute"
	"github.com/component-operator/runtime/pkg/reconciler/internal/prepare"
)

// An execution observes objects and executes decisions about them. Apply and Delete use live, which makes requests and
// reports what has to be awaited. Plan uses planned, which records the decisions and treats everything as done and
// ready.
type execution interface {
	// openInstances prepares the stage of instances. If some of them lack a namespace, placed is false.
	openInstances(ctx context.Context, members []*prepare.Object) (placed bool, err error)
	// endTier is called when a tier of desired objects is applied.
	endTier(tier []*prepare.Object)

	// settle handles a desired object that need not be looked at; others are not settled.
	settle(t *prepare.Object) (o outcome, settled bool)
	// look observes the object of an item; lookAgain does so after an attempt to apply it.
	look(ctx context.Context, item *inventory.Item) (decide.Situation, error)
	lookAgain(ctx context.Context, item *inventory.Item, last decide.Situation, attempt int) (decide.Situation, error)
	// apply executes a decision. The decision must be repeated (again) if it needs the answer of the server.
	apply(ctx context.Context, t *prepare.Object, s decide.Situation, d decide.Decision) (o outcome, again bool, err error)
	// unsettled returns the outcome for a desired object that was not applied: because of the error or, if that is nil,
	// because it kept changing; see the message.
	unsettled(t *prepare.Object, message string, err error) (outcome, error)
	// dismissed returns the outcome for a dependent that has failed and was deleted.
	dismissed(item *inventory.Item) outcome

	// hold handles redundant objects that are deleted only with approval, and reports whether that has to be awaited.
	hold(ctx context.Context, concerned []*Candidate, held *inventory.HeldDeletions) (awaited bool, err error)
	// lookForEnd looks at an object that should be gone.
	lookForEnd(ctx context.Context, item *inventory.Item) (decide.Situation, error)
	// end executes a decision about an object that should be gone.
	end(ctx context.Context, item *inventory.Item, s decide.Situation, d decide.Deletion, action decide.Ending, message string) (outcome, error)
	// unended returns the outcome for an object that was not ended; see unsettled.
	unended(item *inventory.Item, d decide.Deletion, message string, err error) (outcome, error)
}

// applyQuietly handles a dependent that need not be looked at. It reports false if the dependent may need requests.
func (w *Waves) applyQuietly(t *prepare.Object) (outcome, bool) {
	item := w.call.Ledger.Of(t)
	switch {
	case decide.IsCompleting(item):
		return outcome{item: item, ready: true}, true
	case decide.IsDismissed(item):
		return w.execution.dismissed(item), true
	case item.Phase == inventory.PhaseFailed || item.Barrier != "":
		// The object still exists, so its deletion has to continue.
		return outcome{}, false
	default:
		return w.execution.settle(t)
	}
}

// applyOne looks at a wanted object, decides, and executes the decision.
func (w *Waves) applyOne(ctx context.Context, t *prepare.Object) (outcome, error) {
	item := w.call.Ledger.Of(t)
	w.call.Barriers.Reach(item)
	if item.Phase == inventory.PhaseFailed {
		return w.execution.dismissed(item), w.dismiss(ctx, t)
	}
	s, err := w.execution.look(ctx, item)
	return w.applySeen(ctx, t, s, err)
}

// applySeen is applyOne after the first look, which may have failed. If the object changes meanwhile, it looks again.
func (w *Waves) applySeen(ctx context.Context, t *prepare.Object, s decide.Situation, err error) (outcome, error) {
	item := w.call.Ledger.Of(t)
	var fight decide.Contention
	for attempt := 0; err == nil && attempt < execute.MaxAttempts; attempt++ {
		if !w.call.Ledger.written[t.Index] {
			if s, err = w.call.asExpected(ctx, item, s); err != nil {
				break
			}
		}
		s = w.call.Paced(t, item, s)
		d := decide.Apply(t, item, s)
		w.call.Report.RequeueAfter(d.Again)
		var o outcome
		var again bool
		if o, again, err = w.execution.apply(ctx, t, s, d); !again && err == nil {
			if o.adopting != nil {
				item.Adopted = true
				o.saved = func() (outcome, error) { return w.applySeen(ctx, t, *o.adopting, nil) }
				return o, nil
			}
			if !o.keepsBarrier {
				if err = w.call.Barriers.Lift(ctx, item); err != nil {
					break
				}
			}
			if !o.ready {
				w.call.LookAgain(item)
			}
			return w.released(ctx, w.call.behindBarrier(ctx, o, func() (outcome, error) { return w.applyOne(ctx, t) })), nil
		}
		if again || execute.IsOutdated(err) {
			answer, before := err, s
			s, err = w.execution.lookAgain(ctx, item, before, attempt)
			fight.Met(answer, before, s)
		}
	}
	return w.execution.unsettled(t, fight.Message(), err)
}

// deleteOne looks at a dependent that should be gone, decides, and executes the decision. The outcome is ready when
// nothing is left to do: the object is gone, orphaned, kept, or not ours.
func (w *Waves) deleteOne(ctx context.Context, item *inventory.Item, d decide.Deletion) (outcome, error) {
	var fight decide.Contention
	w.call.Barriers.Reach(item)
	s, err := w.execution.lookForEnd(ctx, item)
	for attempt := 0; err == nil && attempt < execute.MaxAttempts; attempt++ {
		if decide.IsRedundant(item) && s.Exists {
			if s, err = w.call.asExpected(ctx, item, s); err != nil {
				break
			}
			if s.WantedAs, err = w.call.wantedAs(ctx, item, s); err != nil {
				break
			}
		}
		d.Prune = w.call.Prune(item, s.Seen)
		action, message := w.call.Owner.Ending(item, s, d)
		var o outcome
		if o, err = w.execution.end(ctx, item, s, d, action, message); err == nil {
			if !o.ready {
				w.call.LookAgain(item)
			}
			return o, nil
		}
		if execute.IsOutdated(err) || execute.IsTypeless(err) {
			answer, before := err, s
			s, err = w.call.Server.AskServed(ctx, item)
			fight.Met(answer, before, s)
		}
	}
	return w.execution.unended(item, d, fight.Message(), err)
}

// apply executes a decision. The decision must be repeated (again) if it needs the answer of the server.
func (l *live) apply(ctx context.Context, t *prepare.Object, s decide.Situation, d decide.Decision) (o outcome, again bool, err error) {
	item := l.call.Ledger.Of(t)
	if l.mustRecord(item, d) {
		return outcome{item: item, adopting: &s}, false, nil
	}
	switch d.Action {
	case decide.Keep:
		o, err = l.kept(ctx, t, s)
	case decide.Ask:
		again = true
	case decide.Await:
		o, err = l.awaitEnd(ctx, t, s, d)
	case decide.Refuse:
		item.Holder = ""
		err = &inventory.RefusedError{Problems: []string{fmt.Sprintf("%s: %s", t.Key, d.Message)}, Foreign: s.Seen.Record == ""}
	case decide.Report, decide.Cede:
		o = l.reported(t, s, d)
	case decide.Complete, decide.Dismiss:
		o = l.completed(t, d)
	case decide.Compare:
		o, err = l.compare(ctx, t, s)
	case decide.Create:
		o, err = l.create(ctx, t, s, d)
	case decide.Write, decide.Verify:
		o, again, err = l.overwrite(ctx, t, s, d)
	case decide.Mark:
		o, err = l.mark(ctx, t, s, d)
	case decide.Recreate:
		o, again, err = l.recreate(ctx, t, s, d)
	default:
		err = fmt.Errorf("applying %s: unknown action %d", t.Key, d.Action)
	}
	return o, again, err
}

// mustRecord reports whether an adoption has to be recorded before it is made: afterwards, nothing shows whether the
// object existed before.
func (l *live) mustRecord(item *inventory.Item, d decide.Decision) bool {
	return l.recordAdoptions && d.Verb == inventory.VerbAdopted && !item.Adopted
}

// prepareInstances makes sure that the instances of a CustomResourceDefinition outlive its change. wait is the outcome if
// the change has to wait, nil if it can be made; again means that the definition has changed since the decision.
func (l *live) prepareInstances(ctx context.Context, t *prepare.Object, s decide.Situation) (wait *outcome, again bool, err error) {
	if !prepare.IsCRD(t.Key.GroupKind) {
		return nil, false, nil
	}
	item := l.call.Ledger.Of(t)
	live, err := l.call.Server.Get(ctx, item)
	switch {
	case execute.IsGone(err) || err == nil && live.GetResourceVersion() != s.Seen.ResourceVersion:
		return nil, true, nil
	case err != nil:
		return nil, false, err
	}
	upgrade, err := l.call.upgrade(t, live)
	if err != nil {
		return nil, false, err
	}
	refusal, err := upgrade.Refusal(ctx)
	switch {
	case err != nil:
		return nil, false, err
	case refusal != "":
		return nil, false, &inventory.RefusedError{Problems: []string{fmt.Sprintf("%s: %s", t.Key, refusal)}}
	}
	message, later, err := upgrade.Migrate(ctx)
	if message == "" || err != nil {
		return nil, err == nil && live.GetResourceVersion() != s.Seen.ResourceVersion, err
	}
	l.call.Report.RequeueAfter(later)
	return &outcome{item: item, message: message, unwritten: true}, false, nil
}

// overwrite applies the manifest to the observed object. If the result is rejected, it replaces the object, or
// recreates it, as far as the policies permit that.
func (l *live) overwrite(ctx context.Context, t *prepare.Object, s decide.Situation, d decide.Decision) (outcome, bool, error) {
	switch wait, again, err := l.prepareInstances(ctx, t, s); {
	case again || err != nil:
		return outcome{}, again, err
	case wait != nil:
		return *wait, false, nil
	}
	o, err := l.write(ctx, t, s, d)
	if !execute.IsInvalid(err) {
		return o, false, err
	}
	object, err := l.call.Executor.Remedy(ctx, t, l.call.Ledger.Of(t), s, err)
	switch {
	case err != nil:
		return o, false, err
	case object != nil:
		s.Seen, l.call.Ledger.changed[t.Index] = l.call.Server.Reader.Read(object), true
		o, err = l.write(ctx, t, s, d)
		return o, false, err
	case s.Relation == inventory.RelationOlder:
		// The sibling must be able to see that it no longer owns the object before the object vanishes.
		_, err := l.mark(ctx, t, s, d)
		l.call.Ledger.Of(t).Phase = inventory.PhaseScheduledForApplication
		return o, err == nil, err
	default:
		return l.recreate(ctx, t, s, d)
	}
}

// write applies the manifest of a desired object to the observed object, or creates it.
func (l *live) write(ctx context.Context, t *prepare.Object, s decide.Situation, d decide.Decision) (outcome, error) {
	before := l.ownershipBefore(ctx, t, s, d)
	object, err := l.call.Executor.Apply(ctx, t, l.call.Ledger.Of(t), s, d.Action)
	if err != nil {
		return outcome{}, err
	}
	l.call.Ledger.written[t.Index] = true
	l.call.Ledger.changed[t.Index] = l.call.Ledger.changed[t.Index] || !s.Exists || object.GetResourceVersion() != s.Seen.ResourceVersion
	changed := d.Action != decide.Verify || object.GetResourceVersion() != s.Seen.ResourceVersion
	isCorrection := d.Verb.IsCorrection()
	cleaned, surplus, err := l.call.Executor.RemoveSurplus(ctx, t, l.call.Ledger.Of(t), object, changed && !isCorrection)
	// Report the correction even if another client has interfered since; the next pass removes the rest.
	interrupted := isCorrection && execute.IsOutdated(err)
	if err != nil && !interrupted {
		return outcome{}, err
	}
	d.Message = l.corrected(t, d, before, object, surplus)
	if cleaned != nil {
		object, changed, l.call.Ledger.changed[t.Index] = cleaned, true, true
	}
	o := l.wrote(t, object, d, changed)
	if interrupted {
		o.item.Baseline = ""
		l.call.Retry(o.item)
	}
	// The server may have set the default class with the creation.
	return l.unlessAwaited(ctx, t, o, object.GetUID())
}

// observed returns the observation of an object in the response of a write. The event of the write often arrives before
// the response.
func observed(call *Call, t *prepare.Object, object *unstructured.Unstructured) observe.Observation {
	seen, view := call.Server.Observer.Get(t.GVK(), t.Key.Namespace, t.Key.Name)
	isSame := view == observe.Present && seen.UID == object.GetUID() && seen.ResourceVersion == object.GetResourceVersion()
	if isSame && !call.Server.Outdated(t.Key, seen) {
		return seen
	}
	seen = call.Server.Reader.Read(object)
	if t.Extracting {
		seen.Object = observe.Kept(object)
	}
	call.Server.Observer.Record(t.GVK(), t.Key.Namespace, t.Key.Name, seen)
	return seen
}

// wrote records the response of a write.
func (l *live) wrote(t *prepare.Object, object *unstructured.Unstructured, d decide.Decision, changed bool) outcome {
	item := l.call.Ledger.Of(t)
	seen := observed(l.call, t, object)
	now := l.call.Server.Clock.Now()
	if recalled := l.call.Memory.Peek(t.Key); recalled != nil {
		recalled.Retries, recalled.Deletions = decide.Repetition{}, decide.Repetition{}
	}
	if d.Action == decide.Verify {
		l.call.Memory.Of(t.Key).Verifications.Happened(now)
	}
	if changed {
		if d.Verb.IsCorrection() || d.Verb == inventory.VerbAdopted && item.UID != "" {
			l.call.Memory.Of(t.Key).Corrections.Happened(now)
		}
		if l.call.Ledger.changed[t.Index] || !d.MayChangeNothing(t) {
			l.call.Report.Acted(d.Verb, t.ApplyOrder, item, d.Message)
		}
		if !d.Verb.IsCorrection() { // which writes nothing new
			for _, note := range t.Notes {
				l.call.Report.Notes(item, note)
			}
		}
		item.Phase = inventory.PhaseUpdating
		if d.Action == decide.Create {
			item.Phase = inventory.PhaseCreating
		}
	}
	if changed || item.LastAppliedAt == nil {
		item.LastAppliedAt = &metav1.Time{Time: now}
	}
	item.UID, item.Fingerprint, item.Baseline = seen.UID, seen.Fingerprint, seen.Baseline()
	item.DeletePolicy, item.PrunePolicy = l.call.Owner.DeletePolicy(item, t.Delete), t.Prune
	s := decide.Situation{Owner: l.call.Owner.Label, Exists: true, Seen: seen}
	return l.settled(t, s)
}

// create creates a desired object, if the owner confirms that it is still wanted.
func (l *live) create(ctx context.Context, t *prepare.Object, s decide.Situation, d decide.Decision) (outcome, error) {
	if err := l.call.Consent.Confirm(ctx, t); err != nil {
		return outcome{}, err
	}
	return l.write(ctx, t, s, d)
}

// mark sets our marks on the observed object, without changing its content.
func (l *live) mark(ctx context.Context, t *prepare.Object, s decide.Situation, d decide.Decision) (outcome, error) {
	object, err := l.call.Executor.MarkOnly(ctx, t, l.call.Ledger.Of(t), s)
	if err != nil {
		return outcome{}, err
	}
	return l.wrote(t, object, d, true), nil
}
