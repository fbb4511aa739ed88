// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package barriers

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apitypes "k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/ellipsis"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/answers"
	"github.com/component-operator/runtime/pkg/reconciler/internal/decisions"
	"github.com/component-operator/runtime/pkg/reconciler/internal/kinds"
	"github.com/component-operator/runtime/pkg/reconciler/internal/memory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/report"
	"github.com/component-operator/runtime/pkg/reconciler/internal/server"
	"github.com/component-operator/runtime/pkg/types"
)

const (
	// DefaultPause is what other API servers get to learn of a barrier that one of them enforces.
	DefaultPause = 3 * time.Second
	// barrierProbing is the time between two looks whether a barrier is in force; it takes up to two seconds.
	barrierProbing = time.Second
	// barrierPatience is how long a barrier that was put up may take to be enforced before it is put up again.
	barrierPatience = 10 * time.Second

	// Awaited is what is awaited while a barrier is being put up.
	Awaited = "making sure that no instance of its type is created while it is being deleted"
)

// Barriers are those of the owner of a call. Items are worked upon side by side.
type Barriers struct {
	Server *server.Server
	Report *report.Report
	Memory memory.Owner
	Owner  decisions.Owner
	Items  []*inventory.Item // of the owner
	Name   string            // of the reconciler
	// Pause is how long a barrier must have been in force before what it protects is deleted.
	Pause time.Duration

	mu      sync.Mutex
	reached map[*inventory.Item]bool // Items with a barrier that were looked at
}

// For returns the barrier that has to stand before the object that was seen is deleted; nil if it needs none, or there cannot
// be one.
func (bs *Barriers) For(item *inventory.Item, uid apitypes.UID) *Barrier {
	if !kinds.IsCRD(item.GroupVersionKind().GroupKind()) {
		return nil
	}
	b := newBarrier(bs.Name, bs.Owner.ID, item, uid)
	if b == nil {
		return nil
	}
	if recalled := bs.Memory.Peek(types.IDOf(item)); recalled != nil && recalled.Barrier.Name == b.name && recalled.Barrier.Missing != "" {
		return nil
	}
	return b
}

// Await reports whether the recorded barrier has to be awaited, because it has not been enforced for long enough. A recorded barrier that was meant
// for another object of that name is lifted.
func (bs *Barriers) Await(ctx context.Context, item *inventory.Item, b *Barrier) (awaited bool, err error) {
	if item.Barrier == "" {
		return false, nil
	}
	if b == nil || item.Barrier != b.name {
		return false, bs.Lift(ctx, item)
	}
	state := bs.Memory.Of(types.IDOf(item)).Barrier
	if state.Name != b.name {
		state = memory.Barrier{Name: b.name}
	}
	var enforced bool
	if !state.Raised.IsZero() {
		if enforced, err = bs.isEnforced(ctx, b); err != nil {
			return false, bs.doWithout(ctx, item, b, err)
		}
	}
	state, step := decide(state, enforced, bs.Server.Clock.Now(), bs.Pause)
	if step.raise {
		if err := bs.raise(ctx, b); err != nil {
			return false, bs.doWithout(ctx, item, b, err)
		}
	}
	bs.Memory.Of(types.IDOf(item)).Barrier = state
	if step.stands {
		return false, nil
	}
	bs.Report.RequeueAfter(step.wait)
	return true, nil
}

// step is what is to be done about a barrier.
type step struct {
	stands bool          // it has been enforced for long enough
	raise  bool          // put it up, or put it right
	wait   time.Duration // look again after this time
}

// decide decides what to do about a barrier of which it was seen now whether it is enforced. It is a pure function.
func decide(state memory.Barrier, enforced bool, now time.Time, pause time.Duration) (memory.Barrier, step) {
	switch {
	case !enforced && (state.Raised.IsZero() || now.Sub(state.Raised) >= barrierPatience):
		state.Raised, state.Enforced = now, time.Time{}
		return state, step{raise: true, wait: barrierProbing}
	case !enforced:
		state.Enforced = time.Time{}
		return state, step{wait: barrierProbing}
	case state.Enforced.IsZero():
		state.Enforced = now
		return state, step{wait: pause}
	case now.Sub(state.Enforced) < pause:
		return state, step{wait: state.Enforced.Add(pause).Sub(now)}
	default:
		return state, step{stands: true}
	}
}

// Record has an item carry a barrier. That must be saved before putUp.
func (bs *Barriers) Record(item *inventory.Item, b *Barrier) {
	item.Barrier = b.name
	bs.Reach(item)
}

// PutUp puts up a barrier that was recorded, and reports whether it has to be awaited. What cannot have one need not wait.
func (bs *Barriers) PutUp(ctx context.Context, item *inventory.Item, b *Barrier) (awaited bool, err error) {
	bs.Memory.Of(types.IDOf(item)).Barrier = memory.Barrier{Name: b.name}
	if awaited, err = bs.Await(ctx, item, b); err != nil {
		return false, fmt.Errorf("protecting the instances of %s: %w", types.IDOf(item), err)
	}
	return awaited, nil
}

// doWithout notes that there cannot be a barrier, if the error says so; otherwise it returns the error. Then the object is deleted as soon as no
// instances are seen.
func (bs *Barriers) doWithout(ctx context.Context, item *inventory.Item, b *Barrier, err error) error {
	var reason string
	switch {
	case answers.IsTypeless(err):
		reason = "the API server has no ValidatingAdmissionPolicies"
	case apierrors.IsForbidden(err), apierrors.IsInvalid(err), answers.IsNoDryRun(err), answers.IsNotFound(err):
		reason = err.Error()
	default:
		return err
	}
	if err := bs.Lift(ctx, item); err != nil && !apierrors.IsForbidden(err) {
		return err
	}
	item.Barrier = ""
	bs.Memory.Of(types.IDOf(item)).Barrier = memory.Barrier{Name: b.name, Missing: reason}
	bs.Report.Notes(item, ellipsis.Truncate("is deleted without a barrier, so that instances created at this very moment go with it: "+reason, 500))
	return nil
}

// Reach notes that a pass came to an item. What becomes of its barrier, if it has one, is decided there.
func (bs *Barriers) Reach(item *inventory.Item) {
	if item.Barrier == "" {
		return
	}
	bs.mu.Lock()
	defer bs.mu.Unlock()
	if bs.reached == nil {
		bs.reached = map[*inventory.Item]bool{}
	}
	bs.reached[item] = true
}

// LiftUnreached ends a pass with its error: instances of types can be created again whose deletion has begun, and to which the pass did not come, because
// it waits for something else. The barrier is put up again when a pass comes to the type. A type whose deletion was requested goes anyway,
// and whoever works instead of us keeps his barriers.
func (bs *Barriers) LiftUnreached(ctx context.Context, reason error) error {
	var fenced *inventory.FencedError
	if errors.As(reason, &fenced) {
		return reason
	}
	for _, item := range bs.Items {
		if item.Barrier == "" || item.Phase == inventory.PhaseDeleting || bs.reached[item] {
			continue
		}
		if err := bs.Lift(ctx, item); err != nil {
			return answers.Join(reason, err)
		}
	}
	return reason
}

// isEnforced reports whether the API server denies what the barrier forbids: it is asked to create a ConfigMap of a name that
// nothing but the barrier forbids, in a dry run. Only the last of several namespaces may be refused for another reason.
func (bs *Barriers) isEnforced(ctx context.Context, b *Barrier) (bool, error) {
	var reason error
	for _, namespace := range []string{bs.Owner.Namespace, metav1.NamespaceDefault} {
		if namespace == "" {
			continue
		}
		probe := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: b.name}}
		err := bs.Server.Read(func() error {
			return bs.Server.Client.Create(ctx, probe, client.DryRunAll, client.FieldOwner(bs.Server.FieldOwner))
		})
		switch {
		case err == nil, apierrors.IsAlreadyExists(err):
			return false, nil
		case answers.DeniedBy(err, b.name):
			return true, nil
		case apierrors.IsForbidden(err), apierrors.IsNotFound(err), apierrors.IsInvalid(err), answers.IsNoDryRun(err):
			reason = err
		default:
			return false, fmt.Errorf("looking whether the barrier %s is enforced: %w", b.name, err)
		}
	}
	return false, fmt.Errorf("looking whether the barrier %s is enforced: %w", b.name, reason)
}
