// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package plans

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/desired"
	"github.com/component-operator/runtime/pkg/reconciler/internal/steps"
	"github.com/component-operator/runtime/pkg/types"
)

// dataFlow plans late objects, in their order, because their manifests depend on data of earlier objects.
type dataFlow struct {
	planner *planner
	steps   *steps.Steps
	changes []inventory.Change // of planner.objects
	// unknown are the objects so far whose data nobody knows, because they would be created or changed, or cannot be read.
	unknown []inventory.ObjectInfo
}

// position is what tells the steps of all waves apart.
type position struct {
	wave  int
	stage desired.Stage
	step  int
}

// plan plans the late objects. The changes of all others must be planned.
func (f *dataFlow) plan(ctx context.Context) error {
	if !slices.ContainsFunc(f.planner.objects, func(t *desired.Object) bool { return t.Late || t.Guarded || t.Reading }) {
		return nil
	}
	defer f.remember()()
	objects := f.planner.objects
	if f.planner.suspend {
		return f.planForms(ctx)
	}
	positions := desired.Group(objects, func(t *desired.Object) position { return position{wave: t.ApplyOrder, stage: t.Stage(), step: t.Step} })
	start := 0
	for _, step := range positions {
		end := start + len(step)
		if err := f.begin(ctx, start, end); err != nil {
			return err
		}
		for i := start; i < end; i++ {
			if objects[i].Extracting {
				if err := f.extract(ctx, i); err != nil {
					return err
				}
			}
		}
		start = end
	}
	return nil
}

// begin plans what happens when the turn of a step comes, whose members are those from start to before end.
func (f *dataFlow) begin(ctx context.Context, start, end int) error {
	lacking := map[int]*steps.Missing{}
	for i := start; i < end; i++ {
		missing, err := f.steps.Read(ctx, f.planner.objects[i])
		if err != nil {
			return err
		}
		if missing != nil {
			lacking[i] = missing
		}
	}
	for i := start; i < end; i++ {
		late, missing := f.planner.objects[i].Late, lacking[i]
		var err error
		switch {
		case missing != nil && late:
			err = f.leaveOpen(ctx, i, missing.Reason)
		case missing != nil && f.changes[i].Verb != "":
			addReason(&f.changes[i], missing.Reason)
		case missing == nil && late:
			err = f.complete(ctx, i, f.steps.Resolve)
		}
		if err != nil {
			return err
		}
		if missing == nil {
			f.ask(i)
		}
	}
	for i := start; i < end; i++ {
		if missing := lacking[i]; missing != nil {
			f.doNotKnow(missing.Object)
		}
	}
	return nil
}

// doNotKnow notes an object whose data nobody knows.
func (f *dataFlow) doNotKnow(object inventory.ObjectInfo) {
	f.unknown = append(f.unknown[:len(f.unknown):len(f.unknown)], object)
}

// planForms plans the suspended forms of late objects. Data are read and extracted before anything is suspended. What is missing then, the forms do without.
func (f *dataFlow) planForms(ctx context.Context) error {
	if !slices.ContainsFunc(f.planner.objects, func(t *desired.Object) bool { return t.Suspended && t.Late }) {
		return nil
	}
	for _, t := range f.planner.objects {
		if _, err := f.steps.Read(ctx, t); err != nil {
			return err
		}
		if !t.Extracting {
			continue
		}
		object, err := f.steps.Look(ctx, t)
		if err != nil {
			return err
		}
		if object != nil {
			_ = f.steps.Extract(t, object)
		}
	}
	for i, t := range f.planner.objects {
		if t.Late && t.Suspended {
			if err := f.complete(ctx, i, f.steps.Form); err != nil {
				return err
			}
		}
	}
	return nil
}

// remember returns a function that undoes what planning has noted about late objects: applying them has to come to the same conclusions when it is their
// turn, and to record these before it acts.
func (f *dataFlow) remember() (undo func()) {
	ledger, manifests := f.planner.call.Ledger, f.planner.call.Executor.Manifests
	items := map[*inventory.Item]inventory.Item{}
	for _, t := range f.planner.objects {
		if t.Late {
			items[ledger.Of(t)] = *ledger.Of(t)
		}
	}
	// The desired objects are kept for the next call.
	f.planner.objects = slices.Clone(f.planner.objects)
	return func() {
		for item, before := range items {
			*item = before
		}
		manifests.Uncomplete()
	}
}

// ask says in the change of an object that its guard holds it back.
func (f *dataFlow) ask(i int) {
	change, t := &f.changes[i], f.planner.objects[i]
	isUnknown, stays := len(f.unknown) > 0, change.Verb == ""
	if !t.Guarded || isUnknown && (t.Late || stays) {
		return
	}
	if isUnknown {
		change.DependsOn = f.unknown
		addReason(change, "whether it is held back "+f.dependence())
		return
	}
	var refused *inventory.RefusedError
	var retriable types.RetriableError
	switch reason, err := steps.Ask(f.planner.call, t); {
	case errors.As(err, &refused):
		change.Refusal = refused.Error()
	case stays:
		// It was applied before; the guard does not take it back.
	case errors.As(err, &retriable):
		addReason(change, "held back: "+err.Error())
	case err != nil:
		addReason(change, "its guard has failed: "+err.Error())
	case reason != "":
		addReason(change, "held back: "+reason)
	}
}

// complete plans a late object, which resolve completes. If resolve returns nil, the manifest does not matter.
func (f *dataFlow) complete(ctx context.Context, i int, resolve func(*desired.Object) (*desired.Object, bool, error)) error {
	p := f.planner
	if len(f.unknown) > 0 {
		return f.leaveOpen(ctx, i, f.dependence())
	}
	// The change is identified by what was announced, because a saved plan cannot know the rest.
	announced, err := p.change(p.objects[i])
	if err != nil {
		return err
	}
	t, _, err := resolve(p.objects[i])
	var late *desired.LateError
	var refused *inventory.RefusedError
	switch {
	case errors.As(err, &late):
		return f.leaveOpen(ctx, i, err.Error())
	case errors.As(err, &refused):
		f.changes[i] = announced
		f.changes[i].Refusal = refused.Error()
		return nil
	case err != nil:
		return err
	case t == nil && p.objects[i].Vanishing:
		return nil
	case t == nil:
		f.changes[i] = announced
		return nil
	}
	p.objects[i] = t
	if f.changes[i], err = p.wanted(ctx, t); err == nil {
		f.changes[i].Digest = announced.Digest
	}
	return err
}

// leaveOpen plans a late object whose manifest cannot be completed yet, for a reason.
func (f *dataFlow) leaveOpen(ctx context.Context, i int, reason string) error {
	// The manifest as announced cannot be compared.
	p := *f.planner
	p.depth = min(p.depth, depthAsked)
	t := p.objects[i]
	change, err := p.wanted(ctx, t)
	if err != nil {
		return err
	}
	change.DependsOn = f.unknown
	if change.Verb == "" && change.Refusal == "" && t.Digest == desired.DigestLate {
		change.Verb, change.Reason = inventory.VerbUpdated, ""
	}
	if change.Verb != "" {
		addReason(&change, reason)
	}
	f.changes[i] = change
	return nil
}

// extract extracts the data of an object that would not change.
func (f *dataFlow) extract(ctx context.Context, i int) error {
	t, change := f.planner.objects[i], &f.changes[i]
	if change.Verb == "" && change.Refusal == "" && len(f.unknown) == 0 {
		object, err := f.steps.Look(ctx, t)
		if err != nil {
			return err
		}
		if object != nil && f.steps.Extract(t, object) == nil {
			return nil
		}
	}
	f.doNotKnow(change.Object)
	return nil
}

// dependence names the objects whose data nobody knows.
func (f *dataFlow) dependence() string {
	names := make([]string, len(f.unknown))
	for i, object := range f.unknown {
		names[i] = object.String()
	}
	return "depends on data of " + strings.Join(names, ", ")
}

func addReason(change *inventory.Change, reason string) {
	if change.Reason == "" {
		change.Reason = reason
		return
	}
	change.Reason = fmt.Sprintf("%s; %s", change.Reason, reason)
}
