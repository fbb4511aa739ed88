// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler

import (
	"context"
	"fmt"
	"time"

	"github.com/component-operator/runtime/internal/observe"
	"github.com/component-operator/runtime/pkg/status"
)

// maxAttempts bounds how often a write is decided anew because the object changed in between.
const maxAttempts = 5

// applyQuietly settles a dependent about which nothing has to be requested.
func (p *pass) applyQuietly(t *target) (outcome, bool) {
	item := p.item(t)
	if item.completing() {
		return outcome{item: item, ready: true}, true
	}
	if item.dismissed() {
		return p.mourned(item), true
	}
	if item.Phase == PhaseFailed || item.Barrier != "" {
		// It is still there, whatever has become of the first attempt to delete it.
		return outcome{}, false
	}
	seen, view := p.cache.Get(t.gvk(), t.key.namespace, t.key.name)
	if view != observe.Present || p.expired(seen) || item.Phase == PhaseScheduledForApplication {
		return outcome{}, false
	}
	s := p.paced(t, situation{owner: p.label, exists: true, seen: seen})
	d := decideApply(t, item, s)
	if d.action != actionKeep || status.InProgressStatus == seen.Status && isClaim(t.key) {
		return outcome{}, false
	}
	p.requeueAfter(d.again)
	return p.settled(item, s), true
}

// paced adds how long corrections and verifications of the object have to wait, and whether it is to be taken over.
func (p *pass) paced(t *target, s situation) situation {
	s.takeOver = p.takeOver[t.key]
	if recalled := p.memory.peek(p.owner.ID, t.key); recalled != nil {
		now := p.options.Clock.Now()
		s.correction = recalled.corrections.wait(now, correctionPacing(t.reapplyInterval))
		s.verification = recalled.verifications.wait(now, verificationPacing(t.reapplyInterval))
		s.fight = recalled.fight
	}
	if then := p.expected[t.key]; then != nil && then.Verb == "" && s.verification == 0 {
		// What the plan leaves alone is looked into when the plan does not count any more.
		s.verification = verificationPacing(t.reapplyInterval).step
	}
	return s
}

// applyOne does what is to be done about one wanted object: it observes, decides, and makes one mutating request (and, for
// some update policies, a second one that removes what others added).
func (p *pass) applyOne(ctx context.Context, t *target) (outcome, error) {
	item := p.item(t)
	p.reach(item)
	if item.Phase == PhaseFailed {
		return p.mourned(item), p.dismiss(ctx, t)
	}
	s, err := p.look(ctx, item)
	return p.applySeen(ctx, t, s, err)
}

// applySeen is applyOne for an object that was looked at, or could not be.
func (p *pass) applySeen(ctx context.Context, t *target, s situation, err error) (outcome, error) {
	item := p.item(t)
	var fight contention
	for attempt := 0; err == nil && attempt < maxAttempts; attempt++ {
		if !p.works[t.index].written {
			if s, err = p.asExpected(ctx, item, s); err != nil {
				break
			}
		}
		s = p.paced(t, s)
		d := decideApply(t, item, s)
		p.requeueAfter(d.again)
		var o outcome
		var again bool
		if o, again, err = p.execute(ctx, t, s, d); !again && err == nil {
			if o.adopting != nil {
				return o, nil
			}
			if !o.securing {
				if err = p.lift(ctx, item); err != nil {
					break
				}
			}
			p.unheard(o)
			return o, nil
		}
		if again || isOutdated(err) {
			answer, before := err, s
			s, err = p.ask(ctx, item)
			fight.met(answer, before, s)
		}
	}
	if err == nil {
		p.requeueAfter(p.retry(item))
		return outcome{item: item, message: fight.message(), unwritten: true}, nil
	}
	return p.excuse(t, item, err)
}

// excuse turns an error that is expected to go away into something that is waited for.
func (p *pass) excuse(t *target, item *InventoryItem, err error) (outcome, error) {
	if reason, ok := awaitable(err); ok {
		p.requeueAfter(p.retry(item))
		return outcome{item: item, message: reason, doomed: isDoomed(err), unwritten: true}, nil
	}
	if isRefusal(err) {
		return outcome{}, refused(fmt.Sprintf("%s: rejected by the API server: %s", t.key, err))
	}
	return outcome{}, fmt.Errorf("applying %s: %w", t.key, err)
}

// execute carries out a decision. It asks to be called again with what the server says if the decision depends on that.
func (p *pass) execute(ctx context.Context, t *target, s situation, d decision) (o outcome, again bool, err error) {
	item := p.item(t)
	if err := p.refuseAliasOf(t, s, d); err != nil {
		return o, false, err
	}
	if p.unrecordedAdoption(item, d) {
		return outcome{item: item, adopting: &s}, false, nil
	}
	switch d.action {
	case actionKeep:
		o, err = p.kept(ctx, t, s)
		return o, false, err
	case actionAsk:
		return o, true, nil
	case actionAwait:
		o, err = p.awaitEnd(ctx, item, d)
		return o, false, err
	case actionRefuse:
		return o, false, &RefusedError{Problems: []string{fmt.Sprintf("%s: %s", t.key, d.message)}, Foreign: s.seen.Record == ""}
	case actionReport:
		return p.reported(t, s, d), false, nil
	case actionComplete:
		p.completed(item, t.applyOrder)
		return outcome{item: item, ready: true}, false, nil
	case actionCompare:
		o, err = p.compare(ctx, t, s)
		return o, false, err
	case actionCreate:
		o, err = p.create(ctx, t, s, d)
		return o, false, err
	case actionApply, actionVerify:
		return p.overwrite(ctx, t, s, d)
	case actionMark:
		o, err = p.mark(ctx, t, s, d)
		return o, false, err
	case actionRecreate:
		return p.recreate(ctx, t, s, d)
	default:
		return o, false, fmt.Errorf("applying %s: unknown action %d", t.key, d.action)
	}
}

// overwrite applies the manifest to the object that was seen.
func (p *pass) overwrite(ctx context.Context, t *target, s situation, d decision) (outcome, bool, error) {
	o, err := p.write(ctx, t, s, d)
	if isImmutable(err) && s.exists && t.update == UpdatePolicyRecreate && !s.seizes() {
		return p.recreate(ctx, t, s, d)
	}
	return o, false, err
}

// kept settles a dependent that is as it should be.
func (p *pass) kept(ctx context.Context, t *target, s situation) (outcome, error) {
	item := p.item(t)
	o := p.settled(item, s)
	if !o.ready && s.seen.Status == status.InProgressStatus && isClaim(t.key) {
		awaits, err := p.awaitsConsumer(ctx, t, item, s.seen.UID)
		if err != nil {
			return outcome{}, err
		}
		o.ready = awaits
	}
	return o, nil
}

// reported settles a dependent that others changed and that is left alone. That it drifted does not make it unready.
func (p *pass) reported(t *target, s situation, d decision) outcome {
	item := p.item(t)
	p.note(&p.result.Drift, item, d.message)
	if !s.exists {
		// That its absence is left alone makes it ready; that it is created again only later does not.
		return outcome{item: item, ready: d.again == 0, message: d.message, unwritten: true}
	}
	return p.settled(item, s)
}

// awaitEnd waits until an object is gone that somebody deletes although it is wanted. Our finalizer protects nothing any more.
func (p *pass) awaitEnd(ctx context.Context, item *InventoryItem, d decision) (outcome, error) {
	item.Status = status.TerminatingStatus
	if definesTypes(item.GroupVersionKind().GroupKind()) {
		if err := p.releaseFinalizer(ctx, item); err != nil {
			return outcome{}, err
		}
	}
	return outcome{item: item, message: d.message, securing: true, unwritten: true}, nil
}

// completed records that the object has served its purpose and is gone.
func (p *pass) completed(item *InventoryItem, wave int) {
	item.complete()
	p.acted(VerbCompleted, wave, item)
}

// unheard has a dependent looked at again of which no event will tell, because its kind cannot be watched, or because it does
// not carry our mark.
func (p *pass) unheard(o outcome) {
	if o.ready {
		return
	}
	seen, view := p.cache.Get(o.item.GroupVersionKind(), o.item.Namespace, o.item.Name)
	if view != observe.Present || seen.Owner != p.label {
		p.requeueAfter(p.retry(o.item))
	}
}

// retry returns how long to wait before a write is tried again that failed for a reason that is expected to go away.
func (p *pass) retry(item *InventoryItem) time.Duration {
	recalled := p.memory.of(p.owner.ID, keyOf(item))
	recalled.retries.wait(p.options.Clock.Now(), retryPacing())
	delay := recalled.retries.delay(retryPacing())
	recalled.retries.happened(p.options.Clock.Now())
	return delay
}
