// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/component-operator/runtime/internal/concurrent"
	"github.com/component-operator/runtime/internal/observe"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/decide"
	"github.com/component-operator/runtime/pkg/reconciler/internal/execute"
	"github.com/component-operator/runtime/pkg/reconciler/internal/guard"
	"github.com/component-operator/runtime/pkg/reconciler/internal/prepare"
	"github.com/component-operator/runtime/pkg/types"
)

// Waves applies the desired objects of a call, and deletes or orphans dependents, wave by wave.
type Waves struct {
	Options

	call *Call

	// Misplaced means that the scope of some types was not known when their objects were prepared; so they must be
	// prepared again.
	Misplaced bool

	execution execution
	steps     *steps            // nil for a plan, which does not ask behaviors
	told      int               // the apply order of the last wave that AfterWave was called for
	passed    bool              // some objects are not ready that no wave has waited for
	begun     bool              // redundant dependents are being deleted
	holds     bool              // some of them may be deleted only with approval
	redundant []*inventory.Item // those that are still to be deleted
}

// Options are options of a call.
type Options struct {
	// Why is the reason for deleting dependents that have not served their purpose.
	Why string
	// RecordAdoptions records which objects existed before, before they are adopted.
	RecordAdoptions bool
	// CarryOn begins each wave although the one before is not ready.
	CarryOn bool
	// AfterWave is called when a wave is written; optional.
	AfterWave func(ctx context.Context, order int, final bool) error
	// Last is the greatest apply order of all objects of the call.
	Last int
}

// New returns the Waves of a call. To apply desired objects, its ledger must have the items of all of them.
func New(call *Call, options Options) *Waves {
	return newWaves(call, &live{call: call, recordAdoptions: options.RecordAdoptions}, options)
}

func newWaves(call *Call, execution execution, options Options) *Waves {
	return &Waves{Options: options, call: call, execution: execution, steps: &steps{call: call}, told: math.MinInt}
}

// Apply applies all desired objects, which are sorted, and reports whether all of them are ready or completed. If some
// have failed, it purges objects that have ended.
func (w *Waves) Apply(ctx context.Context, wanted []*prepare.Object) (ready bool, err error) {
	ready, err = w.apply(ctx, wanted)
	if (err == nil || execute.IsAboutObjects(err)) && (execute.IsFailure(err) || w.call.Report.HasFailures()) {
		err = execute.Join(err, w.purgeEnded(ctx, wanted))
	}
	return ready && err == nil, err
}

// apply walks through the waves. If it stops before the end, it corrects drift of the objects that it has not reached.
func (w *Waves) apply(ctx context.Context, wanted []*prepare.Object) (ready bool, err error) {
	done, ready, err := w.walk(ctx, wanted)
	if err == nil && ready {
		return !w.passed, nil
	}
	return false, w.Stop(ctx, err, wanted[done:])
}

// walk applies the desired objects wave by wave, until it has to wait. It returns how many of them it has passed.
func (w *Waves) walk(ctx context.Context, wanted []*prepare.Object) (done int, ready bool, err error) {
	waves := prepare.Group(wanted, func(t *prepare.Object) int { return t.ApplyOrder })
	for i, wave := range waves {
		if w.call.Policies.PruneAt == inventory.PruneAtWaves {
			if gone, err := w.pruneUpTo(ctx, wave[0].ApplyOrder); err != nil || !gone {
				return done, false, err
			}
		}
		for _, members := range prepare.Group(wave, (*prepare.Object).Stage) {
			ready, err := w.applyStage(ctx, members, len(wave))
			if err == nil {
				err = w.wroteWave(ctx, wave)
			}
			if err != nil || !ready {
				return done, false, err
			}
			done += len(members)
		}
		over := math.MaxInt
		if i+1 < len(waves) {
			over = waves[i+1][0].ApplyOrder - 1
		}
		// Objects that are not ready may need those that would be purged. A later call purges these.
		if !w.passed {
			if ready, err := w.purge(ctx, wanted, wave[0].ApplyOrder, over); err != nil || !ready {
				return done, false, err
			}
		}
		if err := w.call.Ledger.Checkpoint(ctx); err != nil {
			return len(wanted), false, err
		}
	}
	return done, true, nil
}

// applyStage applies the members of one stage, step by step, and reports whether all are ready.
func (w *Waves) applyStage(ctx context.Context, members []*prepare.Object, waveSize int) (ready bool, err error) {
	if members[0].Stage() == prepare.Instances {
		placed, err := w.execution.openInstances(ctx, members)
		if err != nil {
			return false, err
		}
		if !placed {
			w.Misplaced = true
			w.call.Report.StopsAt(members[0].ApplyOrder, waveSize)
			return false, nil
		}
	}
	stage, passed := progress{ready: true}, w.passed
	for _, step := range prepare.Group(members, func(t *prepare.Object) int { return t.Step }) {
		complete, held, waits, err := w.steps.begin(ctx, step)
		if err == nil && !held {
			err = w.applyStep(ctx, complete, &stage)
		}
		if err == nil && !held {
			held, err = w.endStep(ctx, complete)
		}
		if err != nil {
			return false, err
		}
		stage.ready = stage.ready && !waits
		if held {
			stage.ready = false
			break
		}
	}
	if !stage.ready || w.passed && !passed {
		w.call.Report.StopsAt(members[0].ApplyOrder, waveSize)
	}
	return stage.ready, nil
}

// wroteWave calls AfterWave if the wave is written, and this call has changed objects of it.
func (w *Waves) wroteWave(ctx context.Context, wave []*prepare.Object) error {
	changed := func(t *prepare.Object) bool { return w.call.Ledger.changed[t.Index] }
	unwritten := func(t *prepare.Object) bool {
		return w.call.Ledger.Of(t).Phase == inventory.PhaseScheduledForApplication
	}
	order := wave[0].ApplyOrder
	if w.AfterWave == nil || w.told == order || !slices.ContainsFunc(wave, changed) || slices.ContainsFunc(wave, unwritten) {
		return nil
	}
	w.told = order
	if err := w.AfterWave(ctx, order, order == w.Last); err != nil {
		return w.call.Consent.Withdraw(err)
	}
	return nil
}

// endStep extracts the data of a step, and reads the objects that its members read afterwards.
func (w *Waves) endStep(ctx context.Context, members []*prepare.Object) (held bool, err error) {
	held, waits, err := w.steps.end(ctx, members)
	w.passed = w.passed || waits
	return held, err
}

// progress is the progress of a stage.
type progress struct {
	ready     bool
	unwritten bool // some manifests have still to be applied
}

// applyStep applies the members of one step of a stage, tier by tier.
func (w *Waves) applyStep(ctx context.Context, step []*prepare.Object, progress *progress) error {
	for _, tier := range prepare.Group(step, w.call.Tiers.Of) {
		if progress.unwritten && w.call.Tiers.Of(tier[0]) == prepare.TierLast {
			continue // these webhooks might deny what is to answer their calls
		}
		unready, err := w.applyTier(ctx, tier)
		for _, o := range unready {
			w.noteUnready(o, progress)
		}
		if err != nil {
			return fmt.Errorf("applying %s: %w", types.WaveText(step[0].ApplyOrder), err)
		}
		w.execution.endTier(tier)
		if err := w.dismissFailed(ctx, tier); err != nil {
			return fmt.Errorf("deleting failed objects of %s: %w", types.WaveText(step[0].ApplyOrder), err)
		}
	}
	return nil
}

// noteUnready notes a dependent that is not ready.
func (w *Waves) noteUnready(o outcome, progress *progress) {
	progress.unwritten = progress.unwritten || o.unwritten
	if o.overdue || w.CarryOn && !o.unwritten {
		w.passed = true
	} else {
		progress.ready = false
	}
	w.call.Report.AwaitsHealth(o.item, o.message, o.health)
}

// Stop ends the waves before the rest of the desired objects, and corrects drift of these. It returns the error, joined
// with the errors of the correction.
func (w *Waves) Stop(ctx context.Context, err error, rest []*prepare.Object) error {
	if execute.Is[*inventory.StaleError](err) {
		return err
	}
	return execute.Join(err, w.correctDrift(ctx, rest))
}

// correctDrift corrects drift of dependents that the waves have not reached, except late ones, whose manifests are not
// complete.
func (w *Waves) correctDrift(ctx context.Context, rest []*prepare.Object) error {
	if w.call.Consent.MayGoOn() != nil {
		// The waves have stopped for this reason, and returned it.
		return nil
	}
	written := slices.DeleteFunc(slices.Clone(rest), func(t *prepare.Object) bool {
		return w.call.Ledger.visited[t.Index] || t.Late || !decide.IsWritten(w.call.Ledger.Of(t)) || w.call.Tiers.Of(t) == prepare.TierLast
	})
	if len(written) == 0 {
		return nil
	}
	if _, err := w.applyTier(ctx, written); err != nil {
		return fmt.Errorf("correcting drift: %w", err)
	}
	return nil
}

// applyTier applies desired objects concurrently and returns those that are not ready. Its error joins all errors.
func (w *Waves) applyTier(ctx context.Context, tier []*prepare.Object) ([]outcome, error) {
	var t outcomes
	var requests []*prepare.Object
	for _, object := range tier {
		w.call.Ledger.visited[object.Index] = true
		if o, settled := w.applyQuietly(object); settled {
			t.add(w.released(ctx, o), nil)
		} else {
			requests = append(requests, object)
		}
	}
	concurrent.All(w.call.Server.Concurrency, requests, func(object *prepare.Object) {
		o, err := w.applyOne(ctx, object)
		t.finished(w.call, w.call.Ledger.Of(object), o, err)
	})
	t.proceed(ctx, w.call)
	return t.unready, t.Err()
}

// outcome is the state of one dependent after the call has handled it.
type outcome struct {
	item    *inventory.Item
	ready   bool
	message string           // what the call waits for, if it is not ready
	health  inventory.Notice // if it is not ready
	stays   bool             // its item must stay although it is ready
	// overdue means that it is not ready in time, and that later waves begin nevertheless.
	overdue bool
	// unwritten means that the manifest has still to be applied.
	unwritten bool
	// keepsBarrier means that an object that defines types is being deleted, so that its barrier must stay.
	keepsBarrier bool
	// instances names the instances that block the deletion of an object that defines types; objects that serve them
	// must stay, too.
	instances string
	barrier   *guard.Barrier // must be recorded and applied before anything else; may be nil
	// adopting is the observation of an object whose adoption must be recorded before anything else; may be nil.
	adopting *decide.Situation
	// releasing is the observation of an object that keeps our finalizer until its outcome is recorded; may be nil.
	releasing *decide.Situation
	// saved continues the work on the dependent when the inventory is saved; nil if it has ended.
	saved func() (outcome, error)
}

// outcomes collects the outcomes of concurrent work.
type outcomes struct {
	Failures

	mu      sync.Mutex
	ready   []*inventory.Item
	unready []outcome
	unended []outcome // those that continue when the inventory is saved
}

// finished adds the outcome of the work on one dependent, and reports the error, if there is one.
func (t *outcomes) finished(c *Call, item *inventory.Item, o outcome, err error) {
	if err != nil && execute.IsAboutObjects(err) {
		c.Report.Errs(item, err)
	}
	t.add(o, err)
}

func (t *outcomes) add(o outcome, err error) {
	if err != nil {
		t.Add(err)
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case o.saved != nil:
		t.unended = append(t.unended, o)
	case o.stays:
	case o.ready:
		t.ready = append(t.ready, o.item)
	default:
		t.unready = append(t.unready, o)
	}
}

// saved saves the inventory if there are members, and then calls the function for each of them concurrently.
func saved[T any](ctx context.Context, c *Call, t *outcomes, members []T, then func(T)) {
	if len(members) == 0 {
		return
	}
	if err := c.Ledger.Save(ctx); err != nil {
		t.Add(err)
		return
	}
	concurrent.All(c.Server.Concurrency, members, then)
}

// proceed saves the inventory once for all unended outcomes, and then continues the work on them.
func (t *outcomes) proceed(ctx context.Context, c *Call) {
	for len(t.unended) > 0 {
		unended := t.unended
		t.unended = nil
		saved(ctx, c, t, unended, func(o outcome) {
			done, err := o.saved()
			t.finished(c, o.item, done, err)
		})
	}
}

// behindBarrier makes an outcome that needs a barrier continue when the barrier is recorded: it applies the barrier. If
// the object cannot have one, or need not wait, the work on it is repeated.
func (c *Call) behindBarrier(ctx context.Context, o outcome, work func() (outcome, error)) outcome {
	if o.barrier == nil {
		return o
	}
	c.Barriers.Record(o.item, o.barrier)
	o.saved = func() (outcome, error) {
		switch awaited, err := c.Barriers.PutUp(ctx, o.item, o.barrier); {
		case err != nil:
			return outcome{}, err
		case awaited:
			waiting := o
			waiting.saved = nil
			return waiting, nil
		default:
			return work()
		}
	}
	return o
}

// Tiers are the tiers of desired objects within their stages, by the index of the desired object.
type Tiers []int

// Of returns the tier of a desired object.
func (r Tiers) Of(t *prepare.Object) int { return r[t.Index] }

// Arrange sorts the desired objects into the apply order of this pass, and returns their tiers. The observer must watch
// their kinds already.
func Arrange(wanted []*prepare.Object, ledger *Ledger, known execute.Observer) Tiers {
	ranks := make(Tiers, len(ledger.Wanted))
	for _, t := range wanted {
		exists := true
		if prepare.IsWebhookConfiguration(t.Key.GroupKind) {
			_, view := known.Get(t.GVK(), t.Key.Namespace, t.Key.Name)
			exists = view == observe.Present || view == observe.Unseen && ledger.Of(t).UID != ""
		}
		ranks[t.Index] = prepare.ApplyTier(t.Key.GroupKind, exists)
	}
	prepare.Sort(wanted, ranks.Of)
	return ranks
}
