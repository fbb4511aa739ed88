// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/component-operator/runtime/pkg/cluster"
	"github.com/component-operator/runtime/pkg/status"
	"github.com/component-operator/runtime/pkg/types"
)

// applyWaves applies all targets, which are in order, and tells whether all of them are ready or completed.
func (p *pass) applyWaves(ctx context.Context, targets []*target) (ready bool, err error) {
	var purgeable []*target
	for _, t := range targets {
		if t.purgeOrder != nil {
			purgeable = append(purgeable, t)
		}
	}
	done := 0
	waves := group(targets, func(t *target) int { return t.applyOrder })
	for i, wave := range waves {
		for _, members := range group(wave, (*target).stage) {
			ready, err := p.applyStage(ctx, members, len(wave))
			if err != nil || !ready {
				return false, p.stopped(ctx, err, targets[done:])
			}
			done += len(members)
		}
		over := types.MaxOrder
		if i+1 < len(waves) {
			over = waves[i+1][0].applyOrder - 1
		}
		if ready, err := p.purge(ctx, purgeable, wave[0].applyOrder, over); err != nil || !ready {
			return false, p.stopped(ctx, err, targets[done:])
		}
		if err := p.checkpoint(ctx); err != nil {
			return false, err
		}
	}
	return true, nil
}

// applyStage applies the members of one stage, tier by tier, and tells whether all are ready.
func (p *pass) applyStage(ctx context.Context, members []*target, waveSize int) (ready bool, err error) {
	if members[0].stage() == stageInstances {
		if unplaced := p.unplaced(ctx, members); len(unplaced) > 0 {
			p.result.Wave, p.result.WaveSize = members[0].applyOrder, waveSize
			return false, nil
		}
		if err := p.watch(ctx, members, stageInstances); err != nil {
			return false, err
		}
	}
	ready = true
	unwritten := false
	for _, tier := range group(members, p.tiers.of) {
		if unwritten && p.tiers.of(tier[0]) == tierLast {
			if tier = hindering(ctx, p, tier); len(tier) == 0 {
				break
			}
		}
		unready, err := p.applyTier(ctx, tier)
		if err != nil {
			return false, fmt.Errorf("applying wave %d: %w", members[0].applyOrder, joined(err, unhinder(ctx, p, err, members)))
		}
		if err := p.dismissFailed(ctx, tier); err != nil {
			return false, fmt.Errorf("deleting what has failed in wave %d: %w", members[0].applyOrder, err)
		}
		for _, o := range unready {
			ready, unwritten = false, unwritten || o.unwritten
			p.result.Waits = append(p.result.Waits, Notice{Object: objectRef(o.item), Message: o.message, Doomed: o.doomed})
		}
	}
	if !ready {
		p.result.Wave, p.result.WaveSize = members[0].applyOrder, waveSize
	}
	return ready, nil
}

// hindering returns those webhook configurations of the last tier that nobody has worked upon and that exist, although the observer, which follows
// nothing without our label, does not know them: they may be why others cannot be written. One that cannot be looked at is left to a later pass.
func hindering(ctx context.Context, p *pass, members []*target) []*target {
	var found []*target
	for _, t := range members {
		if p.works[t.index].visited || p.tiers.of(t) != tierLast {
			continue
		}
		if s, err := p.ask(ctx, p.item(t)); err == nil && s.exists {
			found = append(found, t)
		}
	}
	return found
}

// unhinder applies, after objects of a stage could not be, what may be the reason for that.
func unhinder(ctx context.Context, p *pass, reason error, members []*target) error {
	if !isAboutObjects(reason) {
		return nil
	}
	if tier := hindering(ctx, p, members); len(tier) > 0 {
		_, err := p.applyTier(ctx, tier)
		return err
	}
	return nil
}

// unplaced returns the objects whose type is namespaced, although they were prepared without a namespace: the type was not known then,
// or its definition says otherwise. They are prepared again.
func (p *pass) unplaced(ctx context.Context, members []*target) []*target {
	var unplaced []*target
	for _, t := range members {
		if t.key.namespace != "" || !p.namespaced(t) {
			continue
		}
		// It may have been namespaced until a moment ago. If the server does not answer, the write is going to say so.
		if err := cluster.RenewTypes(ctx, p.client.RESTMapper(), t.key.Group); err != nil || !p.namespaced(t) {
			continue
		}
		unplaced = append(unplaced, t)
		p.misplaced = true
		p.note(&p.result.Waits, p.item(t), p.whyUnplaced(t))
		p.requeueAfter(p.retry(p.item(t)))
	}
	return unplaced
}

// namespaced reports whether the client takes the type of an object for namespaced.
func (p *pass) namespaced(t *target) bool {
	mapping, err := p.client.RESTMapper().RESTMapping(t.key.GroupKind, t.gvk().Version)
	return err == nil && mapping.Scope.Name() == meta.RESTScopeNameNamespace
}

func (p *pass) whyUnplaced(t *target) string {
	for _, item := range p.items {
		defines := func(managed TypeVersionInfo) bool { return managed.matches(t.gvk()) }
		if isCRD(schema.GroupKind{Group: item.Group, Kind: item.Kind}) && slices.ContainsFunc(item.ManagedTypes, defines) {
			return fmt.Sprintf("its type is namespaced in the cluster, although %s is to make it cluster-scoped", keyOf(item))
		}
	}
	return "its type has become known only now"
}

// stopped ends the waves before the rest of the targets.
func (p *pass) stopped(ctx context.Context, err error, rest []*target) error {
	var stale *StaleError
	if errors.As(err, &stale) {
		return err
	}
	return joined(err, p.heal(ctx, rest))
}

// heal corrects drift of those dependents that the waves did not come to before they stopped.
func (p *pass) heal(ctx context.Context, rest []*target) error {
	if p.mayGoOn() != nil {
		// The waves have ended for that reason, and say so.
		return nil
	}
	written := slices.DeleteFunc(slices.Clone(rest), func(t *target) bool {
		return p.works[t.index].visited || !p.item(t).written() || p.tiers.of(t) == tierLast
	})
	if len(written) == 0 {
		return nil
	}
	if _, err := p.applyTier(ctx, written); err != nil {
		return fmt.Errorf("correcting drift: %w", err)
	}
	return nil
}

// outcome is how one dependent stands after it was worked upon.
type outcome struct {
	item    *InventoryItem
	ready   bool
	message string // what it lacks, if it is not ready
	doomed  bool   // it cannot become ready, because its namespace is being deleted
	// unwritten means that the manifest has not been written, which is going to be tried again.
	unwritten bool
	// securing means that the deletion of an object is under way that defines types, so that its barrier has to stay.
	securing bool
	// instances are those because of which an object that defines types stays, and so must what serves them; empty if there are none.
	instances string
	barrier   *barrier // that is needed before the object can be deleted; nil if there is one
	// adopting is what was seen of an object that is to be adopted after that is recorded; nil if nothing is to be recorded.
	adopting *situation
}

// applyTier applies targets side by side and returns those that are not ready. Its error joins the errors of all.
func (p *pass) applyTier(ctx context.Context, tier []*target) ([]outcome, error) {
	var t tally
	var requests []*target
	for _, target := range tier {
		p.works[target.index].visited = true
		if o, settled := p.applyQuietly(target); settled {
			t.add(o, nil)
		} else {
			requests = append(requests, target)
		}
	}
	each(ctx, p.flow, requests, func(target *target) { t.add(p.applyOne(ctx, target)) })
	targetOf := func(item *InventoryItem) *target {
		return requests[slices.IndexFunc(requests, func(target *target) bool { return p.item(target) == item })]
	}
	p.adopt(ctx, &t, func(o outcome) (outcome, error) { return p.applySeen(ctx, targetOf(o.item), *o.adopting, nil) })
	p.enclose(ctx, &t, func(item *InventoryItem) (outcome, error) { return p.applyOne(ctx, targetOf(item)) })
	return t.unready, t.err()
}

// tally collects how dependents stand that are worked upon side by side.
type tally struct {
	mu       sync.Mutex
	ready    []*InventoryItem
	unready  []outcome
	unbarred []outcome // that need a barrier before anything else is done
	adopting []outcome // whose adoption has to be recorded before anything else is done
	problems []string
	faulty   bool // some of the problems are in the objects themselves
	failures []error
	fenced   *FencedError // one stands for all
	stale    []string
}

func (t *tally) add(o outcome, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var refused *RefusedError
	var fenced *FencedError
	var stale *StaleError
	switch {
	case errors.As(err, &fenced):
		t.fenced = fenced
	case errors.As(err, &stale):
		t.stale = append(t.stale, stale.Changes...)
	case errors.As(err, &refused):
		t.problems = append(t.problems, refused.Problems...)
		t.faulty = t.faulty || !refused.Foreign
	case err != nil:
		t.failures = append(t.failures, err)
	case o.barrier != nil:
		t.unbarred = append(t.unbarred, o)
	case o.adopting != nil:
		t.adopting = append(t.adopting, o)
	case o.ready:
		t.ready = append(t.ready, o.item)
	default:
		t.unready = append(t.unready, o)
	}
}

// err joins all errors, in an order that does not depend on which came first. It is a *RefusedError only if a retry would
// not change anything.
func (t *tally) err() error {
	switch {
	case t.fenced != nil:
		return t.fenced
	case len(t.stale) > 0:
		slices.Sort(t.stale)
		return &StaleError{Changes: t.stale}
	case len(t.problems) == 0 && len(t.failures) == 0:
		return nil
	}
	refusals := refused(t.problems...)
	refusals.Foreign = !t.faulty
	if len(t.failures) == 0 {
		return refusals
	}
	if len(t.problems) > 0 {
		t.failures = append(t.failures, errors.New(refusals.Error()))
	}
	slices.SortFunc(t.failures, func(a, b error) int { return cmp.Compare(a.Error(), b.Error()) })
	return errors.Join(t.failures...)
}

// settled turns what was observed into the outcome for a dependent.
func (p *pass) settled(item *InventoryItem, s situation) outcome {
	p.aliases.take(s.seen.UID, keyOf(item))
	item.Status = s.seen.Status
	if !s.seen.Deadline.IsZero() {
		p.requeueAfter(max(s.seen.Deadline.Sub(p.options.Clock.Now()), 0) + 1)
	}
	switch s.seen.Status {
	case status.CurrentStatus:
		item.Phase = PhaseReady
		return outcome{item: item, ready: true}
	case status.FailedStatus:
		p.note(&p.result.Failures, item, s.seen.Message)
		return outcome{item: item, message: "failed: " + s.seen.Message}
	case status.InProgressStatus, status.TerminatingStatus, status.NotFoundStatus, status.UnknownStatus:
		return outcome{item: item, message: orDefault(s.seen.Message, "status is "+s.seen.Status.String())}
	default:
		return outcome{item: item, message: orDefault(s.seen.Message, "status is "+s.seen.Status.String())}
	}
}
