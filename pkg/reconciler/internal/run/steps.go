// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/component-operator/runtime/internal/observe"
	"github.com/component-operator/runtime/pkg/behaviors"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/decide"
	"github.com/component-operator/runtime/pkg/reconciler/internal/execute"
	"github.com/component-operator/runtime/pkg/reconciler/internal/prepare"
	"github.com/component-operator/runtime/pkg/status"
	"github.com/component-operator/runtime/pkg/types"
)

// steps calls the behaviors of the objects of one call, step by step; nil calls none.
type steps struct{ call *Call }

// begin reads the objects that the members of a step need, asks their guards, and completes their late manifests. It
// returns the members of the step, whose manifests are complete. If something holds the step back, it reports that, and
// held is true. If the component waits for an object of others, it reports that, and waits is true.
func (s *steps) begin(ctx context.Context, members []*prepare.Object) (complete []*prepare.Object, held, waits bool, err error) {
	if s == nil {
		return members, false, false, nil
	}
	if held, waits, err = s.meetObstacles(ctx, members); err != nil {
		return nil, false, false, err
	}
	if held || !slices.ContainsFunc(members, func(t *prepare.Object) bool { return t.Late }) {
		return members, held, waits, nil
	}
	complete = slices.Clone(members)
	saveFirst := false
	for i, t := range complete {
		if !t.Late {
			continue
		}
		resolved, save, err := s.resolve(t)
		switch {
		case execute.Is[*prepare.LateError](err):
			s.holdsBack(t, err.Error())
			s.retry(t, err)
			held = true
		case err != nil:
			return nil, false, false, err
		default:
			complete[i], saveFirst = resolved, saveFirst || save
		}
	}
	if saveFirst && !held {
		err = s.call.Ledger.Save(ctx)
	}
	return complete, held, waits, err
}

// meetObstacles reads the objects that the members of a step need, asks their guards, reports all obstacles, and
// returns whether the step is held, and whether the component waits for objects that were read.
func (s *steps) meetObstacles(ctx context.Context, members []*prepare.Object) (held, waits bool, err error) {
	lacking := map[*prepare.Object]bool{}
	reported := map[types.ObjectID]bool{}
	for _, t := range members {
		missing, unready, err := s.read(ctx, t, true)
		if err != nil {
			return false, false, err
		}
		waits = waits || unready
		if missing == nil {
			continue
		}
		held, lacking[t] = true, true
		if id := types.IDOf(missing.item); !reported[id] {
			reported[id] = true
			s.await(t, missing, "; later objects wait for it")
		}
	}
	for _, t := range members {
		if lacking[t] {
			continue
		}
		reason, err := s.guard(t)
		if err != nil {
			return false, false, err
		}
		if reason != "" {
			s.holdsBack(t, reason)
			held = true
		}
	}
	return held, waits, nil
}

// holdsBack reports that an object is held back, or holds back later ones. One that exists keeps the grade that it was
// last seen with.
func (s *steps) holdsBack(t *prepare.Object, reason string) {
	health := inventory.Notice{Reason: inventory.NoticeReasonBlocked, Grade: status.GradeDown, Grace: t.Grace}
	seen, view := s.call.Server.Observer.Get(t.GVK(), t.Key.Namespace, t.Key.Name)
	switch {
	case view != observe.Present || seen.Owner != s.call.Owner.Label:
	case seen.Status == status.CurrentStatus:
		health.Grade = status.GradeHealthy
	case seen.Grade != "":
		health.Grade = seen.Grade
	}
	s.call.Report.AwaitsHealth(s.call.Ledger.Of(t), reason, health)
}

// readAfter reads the objects that the members of a step read after its end. It returns whether the component waits for
// any of them, and reports it if so.
func (s *steps) readAfter(ctx context.Context, members []*prepare.Object) (waits bool, err error) {
	for _, t := range members {
		for _, read := range readsOf(s.call, t) {
			if !read.After {
				continue
			}
			object, missing, err := s.readOne(ctx, t, read)
			switch {
			case err != nil:
				return false, err
			case missing == nil:
				waits = s.judge(read, object) || waits
			default:
				s.await(t, missing, "")
				waits = true
			}
		}
	}
	return waits, nil
}

// guard returns why an object must not be applied yet; empty if it may be applied. The error is a *RefusedError.
func (s *steps) guard(t *prepare.Object) (reason string, err error) {
	if !t.Guarded {
		return "", nil
	}
	guarded, ok := behaviors.Of[behaviors.Guarded](s.call.Executor.Manifests.Source(t))
	if !ok {
		return "", nil
	}
	reason, err = guarded.Guard()
	switch {
	case execute.Is[*inventory.RefusedError](err):
		return "", err
	case err != nil:
		s.retry(t, err)
	case reason == "":
		return "", nil
	}
	return heldBack(reason, err), nil
}

// heldBack returns a message that a guard holds an object back, or has failed.
func heldBack(reason string, err error) string {
	switch {
	case err == nil:
		return "held back: " + reason
	case execute.Is[types.RetriableError](err):
		return "held back: " + err.Error()
	default:
		return "its guard has failed: " + err.Error()
	}
}

// resolve completes the manifest of a late object, or makes its suspended form, and updates its item. It returns the
// desired object that belongs to the manifest, and whether the inventory must be saved before the object is written.
func (s *steps) resolve(t *prepare.Object) (complete *prepare.Object, saveFirst bool, err error) {
	if t.Suspended {
		return s.resolveBy(t, s.call.Executor.Manifests.Suspend)
	}
	return s.resolveBy(t, s.call.Executor.Manifests.Complete)
}

func (s *steps) resolveBy(t *prepare.Object, resolve func(*prepare.Object) (*prepare.Object, error)) (complete *prepare.Object, saveFirst bool, err error) {
	if complete, err = resolve(t); err != nil {
		return nil, false, err
	}
	item := s.call.Ledger.Of(t)
	saveFirst = decide.Resolve(complete, item)
	if item.Phase != inventory.PhaseScheduledForApplication {
		item.DeletePolicy, item.PrunePolicy = s.call.Owner.DeletePolicy(item, t.Delete), t.Prune
	}
	return complete, saveFirst, nil
}

// forms makes the suspended forms of late objects that exist. It returns the forms that have to be applied. If one
// cannot be made, it reports that, and held is true. Data must have been read and extracted before.
func (s *steps) forms(ctx context.Context, members []*prepare.Object) (forms []*prepare.Object, held bool, err error) {
	saveFirst := false
	for _, t := range members {
		form, save := t, false
		if t.Late && s != nil {
			form, save, err = s.form(t)
			if execute.Is[*prepare.LateError](err) {
				s.call.Report.Awaits(s.call.Ledger.Of(t), err.Error())
				s.retry(t, err)
				held = true
				continue
			}
			if err != nil {
				return nil, false, err
			}
		}
		if form != nil && !form.VanishesAtOnce() {
			forms, saveFirst = append(forms, form), saveFirst || save
		}
	}
	if saveFirst {
		return forms, held, s.call.Ledger.Save(ctx)
	}
	return forms, held, nil
}

// form is resolve for the suspended form of a late object that exists. If data are missing, it returns nil if the
// object is deleted anyway, or is ready in the suspended form that was applied before: the source of the data may be
// suspended already. Otherwise it suspends the announced manifest: suspending must not depend on data of objects that
// are gone.
func (s *steps) form(t *prepare.Object) (form *prepare.Object, saveFirst bool, err error) {
	form, saveFirst, err = s.resolve(t)
	switch {
	case !execute.Is[*prepare.LateError](err):
		return form, saveFirst, err
	case t.VanishesAtOnce() || s.isInForm(t):
		return nil, false, nil
	}
	return s.resolveBy(t, s.call.Executor.Manifests.SuspendIncomplete)
}

// isInForm reports whether an object is ready in the suspended form that was applied before.
func (s *steps) isInForm(t *prepare.Object) bool {
	seen, view := s.call.Server.Observer.Get(t.GVK(), t.Key.Namespace, t.Key.Name)
	return decide.IsSuspended(s.call.Ledger.Of(t)) && view == observe.Present && seen.Status == status.CurrentStatus && !s.call.Server.Outdated(t.Key, seen)
}

// end reads the objects that the members of a step read after its end, and extracts the members' data. If an object is
// not there, or its data cannot be extracted, it reports that, and later steps are held.
func (s *steps) end(ctx context.Context, members []*prepare.Object) (held, waits bool, err error) {
	if s == nil {
		return false, false, nil
	}
	if waits, err = s.readAfter(ctx, members); err != nil {
		return false, false, err
	}
	for _, t := range members {
		if !t.Extracting {
			continue
		}
		object, err := s.lookWhole(ctx, t)
		switch {
		case err != nil:
			return false, false, err
		case object == nil:
			s.holdsBack(t, "does not exist, so no data can be extracted")
			held = true
			continue
		}
		if err := s.extract(t, object); err != nil {
			s.holdsBack(t, "its data cannot be extracted: "+err.Error())
			s.retry(t, err)
			held = true
		}
	}
	return held, waits, nil
}

// extract makes a behavior extract the data of an object, which is not changed.
func (s *steps) extract(t *prepare.Object, object *unstructured.Unstructured) error {
	extracting, ok := behaviors.Of[behaviors.Extracting](s.call.Executor.Manifests.Source(t))
	if !ok {
		return nil
	}
	return extracting.Extract(observe.Kept(object))
}

// lookWhole returns an object as it is in the cluster; nil if it does not exist or is being deleted. It reads the
// object only if the observer does not keep it.
func (s *steps) lookWhole(ctx context.Context, t *prepare.Object) (*unstructured.Unstructured, error) {
	item := s.call.Ledger.Of(t)
	seen, view := s.call.Server.Observer.Get(t.GVK(), t.Key.Namespace, t.Key.Name)
	if view == observe.Present && seen.Object != nil && !seen.Deleting {
		return seen.Object, nil
	}
	situation, err := s.call.Server.Ask(ctx, item)
	switch {
	case err != nil:
		return nil, fmt.Errorf("extracting data of %s: %w", t.Key, err)
	case !situation.Exists || situation.Seen.Deleting:
		return nil, nil
	}
	situation.Seen.Object = observe.Kept(situation.Live)
	s.call.Server.Observer.Record(t.GVK(), t.Key.Namespace, t.Key.Name, situation.Seen)
	return situation.Live, nil
}

// retry makes the caller repeat the call after an error of a behavior: after the delay that the error requests, or
// after a growing delay.
func (s *steps) retry(t *prepare.Object, err error) {
	if retriable, ok := errors.AsType[types.RetriableError](err); ok && retriable.RetryAfter() != nil {
		s.call.Report.RequeueAfter(*retriable.RetryAfter())
		return
	}
	s.call.Retry(s.call.Ledger.Of(t))
}
