// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apitypes "k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// defaultBarrierPause is what other API servers get to learn of a barrier that one of them enforces.
	defaultBarrierPause = 3 * time.Second
	// barrierProbing is the time between two looks whether a barrier is in force; it takes up to two seconds.
	barrierProbing = time.Second
	// barrierPatience is how long a barrier that was put up may take to be enforced before it is put up again.
	barrierPatience = 10 * time.Second

	// barrierAwaited is what is awaited while a barrier is being put up.
	barrierAwaited = "making sure that no instance of its type is created while it is being deleted"
)

// barrierState is what a process knows about a barrier. A process that knows nothing begins anew.
type barrierState struct {
	name     string
	raised   time.Time // when it was put up, or put right
	enforced time.Time // when it was first seen to be enforced, without an interruption since; zero if it was not
	// missing says why there cannot be a barrier; empty if there can.
	missing string
}

// barrierOf returns the barrier that has to stand before the object that was seen is deleted; nil if it needs none, or there cannot
// be one.
func (p *pass) barrierOf(item *InventoryItem, uid apitypes.UID) *barrier {
	if !isCRD(item.GroupVersionKind().GroupKind()) {
		return nil
	}
	b := newBarrier(p.name, p.owner.ID, item, uid)
	if b == nil {
		return nil
	}
	if recalled := p.memory.peek(p.owner.ID, keyOf(item)); recalled != nil && recalled.barrier.name == b.name && recalled.barrier.missing != "" {
		return nil
	}
	return b
}

// awaitBarrier returns what is awaited as long as the recorded barrier has not been enforced for long enough; otherwise nil. A
// recorded barrier that was meant for another object of that name is lifted.
func (p *pass) awaitBarrier(ctx context.Context, item *InventoryItem, b *barrier) (*outcome, error) {
	if item.Barrier == "" {
		return nil, nil
	}
	if b == nil || item.Barrier != b.name {
		return nil, p.lift(ctx, item)
	}
	state := p.memory.of(p.owner.ID, keyOf(item)).barrier
	if state.name != b.name {
		state = barrierState{name: b.name}
	}
	var enforced bool
	var err error
	if !state.raised.IsZero() {
		if enforced, err = p.isEnforced(ctx, b); err != nil {
			return nil, p.doWithout(ctx, item, b, err)
		}
	}
	state, step := decideBarrier(state, enforced, p.options.Clock.Now(), p.barrierPause)
	if step.raise {
		if err := p.raise(ctx, b); err != nil {
			return nil, p.doWithout(ctx, item, b, err)
		}
	}
	p.memory.of(p.owner.ID, keyOf(item)).barrier = state
	if step.stands {
		return nil, nil
	}
	p.requeueAfter(step.wait)
	return &outcome{item: item, message: barrierAwaited, securing: true}, nil
}

// barrierStep is what is to be done about a barrier.
type barrierStep struct {
	stands bool          // it has been enforced for long enough
	raise  bool          // put it up, or put it right
	wait   time.Duration // look again after this time
}

// decideBarrier decides what to do about a barrier of which it was seen now whether it is enforced. It is a pure function.
func decideBarrier(state barrierState, enforced bool, now time.Time, pause time.Duration) (barrierState, barrierStep) {
	switch {
	case !enforced && (state.raised.IsZero() || now.Sub(state.raised) >= barrierPatience):
		state.raised, state.enforced = now, time.Time{}
		return state, barrierStep{raise: true, wait: barrierProbing}
	case !enforced:
		state.enforced = time.Time{}
		return state, barrierStep{wait: barrierProbing}
	case state.enforced.IsZero():
		state.enforced = now
		return state, barrierStep{wait: pause}
	case now.Sub(state.enforced) < pause:
		return state, barrierStep{wait: state.enforced.Add(pause).Sub(now)}
	default:
		return state, barrierStep{stands: true}
	}
}

// enclose puts up the barriers that the outcomes of a tier ask for, after they were recorded. What cannot have one is worked upon
// again without.
func (p *pass) enclose(ctx context.Context, t *tally, work func(*InventoryItem) (outcome, error)) {
	held := t.unbarred
	t.unbarred = nil
	if len(held) == 0 {
		return
	}
	for _, o := range held {
		o.item.Barrier = o.barrier.name
		p.reach(o.item)
	}
	if err := p.save(ctx); err != nil {
		t.add(outcome{}, err)
		return
	}
	each(ctx, p.flow, held, func(o outcome) {
		b := o.barrier
		o.barrier = nil
		p.memory.of(p.owner.ID, keyOf(o.item)).barrier = barrierState{name: b.name}
		wait, err := p.awaitBarrier(ctx, o.item, b)
		switch {
		case err != nil:
			t.add(outcome{}, fmt.Errorf("protecting the instances of %s: %w", keyOf(o.item), err))
		case wait == nil:
			t.add(work(o.item))
		default:
			t.add(o, nil)
		}
	})
}

// doWithout notes that there cannot be a barrier, if the error says so; otherwise it returns the error. Then the object is deleted as soon as no
// instances are seen.
func (p *pass) doWithout(ctx context.Context, item *InventoryItem, b *barrier, err error) error {
	var reason string
	switch {
	case isTypeless(err):
		reason = "the API server has no ValidatingAdmissionPolicies"
	case apierrors.IsForbidden(err), apierrors.IsInvalid(err), isNoDryRun(err), isNotFound(err):
		reason = err.Error()
	default:
		return err
	}
	if err := p.lift(ctx, item); err != nil && !apierrors.IsForbidden(err) {
		return err
	}
	item.Barrier = ""
	p.memory.of(p.owner.ID, keyOf(item)).barrier = barrierState{name: b.name, missing: reason}
	p.note(&p.result.Notes, item, shorten("is deleted without a barrier, so that instances created at this very moment go with it: "+reason, 500))
	return nil
}

// reach notes that a pass came to an item. What becomes of its barrier, if it has one, is decided there.
func (p *pass) reach(item *InventoryItem) {
	if item.Barrier == "" {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.reached == nil {
		p.reached = map[*InventoryItem]bool{}
	}
	p.reached[item] = true
}

// liftUnreached ends a pass with its error: instances of types can be created again whose deletion has begun, and to which the pass did not come, because
// it waits for something else. The barrier is put up again when a pass comes to the type. A type whose deletion was requested goes anyway,
// and whoever works instead of us keeps his barriers.
func (p *pass) liftUnreached(ctx context.Context, reason error) error {
	var fenced *FencedError
	if errors.As(reason, &fenced) {
		return reason
	}
	for _, item := range p.items {
		if item.Barrier == "" || item.Phase == PhaseDeleting || p.reached[item] {
			continue
		}
		if err := p.lift(ctx, item); err != nil {
			return joined(reason, err)
		}
	}
	return reason
}

// retreat is the result of a pass that did not begin. It leaves no barriers behind.
func (r *Reconciler) retreat(ctx context.Context, owner Owner, reason error) (Result, error) {
	inventory, err := r.LiftBarriers(ctx, DeleteRequest{Owner: owner})
	if err != nil {
		reason = joined(reason, err)
	}
	return Result{Inventory: inventory}, reason
}

// LiftBarriers allows creating instances again of types whose deletion has begun and does not go on, because the caller does not call
// Apply or Delete until something else has happened. It returns the inventory, which the caller must persist, and makes no request if there
// is nothing to remove.
func (r *Reconciler) LiftBarriers(ctx context.Context, request DeleteRequest) ([]*InventoryItem, error) {
	items := slices.Clone(request.Inventory)
	p := r.newPass(request.Owner, items)
	for i, recorded := range items {
		if recorded.Barrier == "" {
			continue
		}
		items[i] = recorded.DeepCopy()
		if err := p.lift(ctx, items[i]); err != nil {
			return items, err
		}
	}
	return items, nil
}

// isEnforced reports whether the API server denies what the barrier forbids: it is asked to create a ConfigMap of a name that
// nothing but the barrier forbids, in a dry run. Only the last of several namespaces may be refused for another reason.
func (p *pass) isEnforced(ctx context.Context, b *barrier) (bool, error) {
	var reason error
	for _, namespace := range []string{p.owner.Namespace, metav1.NamespaceDefault} {
		if namespace == "" {
			continue
		}
		probe := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: b.name}}
		err := p.read(func() error {
			return p.client.Create(ctx, probe, client.DryRunAll, client.FieldOwner(p.options.FieldOwner))
		})
		switch {
		case err == nil, apierrors.IsAlreadyExists(err):
			return false, nil
		case deniedBy(err, b.name):
			return true, nil
		case apierrors.IsForbidden(err), apierrors.IsNotFound(err), apierrors.IsInvalid(err), isNoDryRun(err):
			reason = err
		default:
			return false, fmt.Errorf("looking whether the barrier %s is enforced: %w", b.name, err)
		}
	}
	return false, fmt.Errorf("looking whether the barrier %s is enforced: %w", b.name, reason)
}

// deniedBy reports whether a request was denied by the ValidatingAdmissionPolicy whose name begins with the text.
func deniedBy(err error, name string) bool {
	return apierrors.IsForbidden(err) && strings.Contains(err.Error(), "ValidatingAdmissionPolicy '"+name)
}
