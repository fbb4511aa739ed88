// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/component-operator/runtime/clm/internal/connection"
	"github.com/component-operator/runtime/clm/internal/display"
	"github.com/component-operator/runtime/clm/internal/helmreleases"
	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/types"
)

// Past is a revision that another tool has brought about.
type Past struct {
	// Revision with its number and time, and the state in which it is recorded unless it is the current one.
	Revision releases.Revision
	// Content reads the content of the revision, each time it is called: the contents of all revisions together may
	// need much memory.
	Content func() (releases.Content, error)
}

// planTakeover plans to record the history of a Helm release, to adopt its objects, and to apply its last revision.
func (a *HelmAdoption) planTakeover(ctx context.Context, c *connection.Connection, release *releases.Release, history []Past, objects divided) error {
	plan := &Plan{connection: c, Release: release, Operation: Adopt, takeOver: objects.marked, confirm: func(ctx context.Context) error {
		err := a.Helm.Confirm(ctx, c.Client())
		if errors.Is(err, helmreleases.ErrChanged) {
			return &releases.ChangedError{Release: release.String()}
		}
		return err
	}}
	history, err := a.describePast(plan, history)
	if err != nil {
		return err
	}
	last := history[len(history)-1]
	plan.Revision = last.Revision
	if plan.Content, err = last.Content(); err != nil {
		return err
	}
	if current := release.Current(); current == nil || current.Number < last.Revision.Number {
		plan.New = true
		plan.past = slices.DeleteFunc(history[:len(history)-1], func(past Past) bool { return current != nil && past.Revision.Number <= current.Number })
	} else {
		plan.Revision = *current
	}
	noteDone(release, objects.hooks)
	if err := plan.Compare(ctx, true); err != nil {
		return err
	}
	if err := confirmNew(ctx, c.Records(), plan); err != nil {
		plan.Close()
		return err
	}
	a.Plan = plan
	return nil
}

// describePast completes the revisions of a history, and sets the states of those that are recorded: the process that
// has recorded the last one of them may have died before it could do so. It leaves out older revisions that cannot be
// read or applied.
func (a *HelmAdoption) describePast(plan *Plan, all []Past) ([]Past, error) {
	var history []Past
	for i, past := range all {
		isLast := i == len(all)-1
		if err := complete(plan, &past, plan.connection.Client().Scheme()); err != nil && isLast {
			return nil, err
		} else if err != nil {
			a.Skipped = append(a.Skipped, fmt.Sprintf("revision %d is left out: %s", past.Revision.Number, err))
			continue
		}
		history = append(history, past)
		if isLast {
			continue
		}
		for j := range plan.Release.Revisions {
			if recorded := &plan.Release.Revisions[j]; recorded.Number == past.Revision.Number {
				recorded.State = past.Revision.State
			}
		}
	}
	return history, nil
}

// complete fills in what the content of a revision says. It does not keep the content.
func complete(plan *Plan, past *Past, scheme *runtime.Scheme) error {
	content, err := past.Content()
	if err != nil {
		return err
	}
	if err = checkReserved(plan.Release, content.Manifest); err == nil {
		err = checkHooks(content.Manifest, scheme)
	}
	if err != nil {
		return fmt.Errorf("revision %d: %w", past.Revision.Number, err)
	}
	past.Revision.Objects, past.Revision.Inputs = len(content.Manifest), unordered
	past.Revision.Inputs, err = inputs(content, past.Revision)
	return err
}

// noteDone notes in the inventory of a release that objects have completed, whatever their present manifests are: the
// other tool has run them with these.
func noteDone(release *releases.Release, objects []types.ObjectKey) {
	known := map[display.Key]*reconciler.InventoryItem{}
	for _, item := range release.Inventory {
		known[display.KeyOf(item)] = item
	}
	for _, object := range objects {
		item := known[display.KeyOf(object)]
		if item == nil {
			item = &reconciler.InventoryItem{Phase: reconciler.PhaseCompleted}
			item.SetGroupVersionKind(object.GetObjectKind().GroupVersionKind())
			item.Namespace, item.Name = object.GetNamespace(), object.GetName()
			release.Inventory = append(release.Inventory, item)
		}
		if item.Phase == reconciler.PhaseCompleted {
			item.Digest = display.DigestTakenOver
		}
	}
}

// recordPast records the revisions before that of the plan which are not recorded yet, in their order. If that is
// interrupted, another takeover continues.
func (a *application) recordPast(ctx context.Context) error {
	p := a.plan
	for len(p.past) > 0 {
		past := p.past[0]
		content, err := past.Content()
		switch {
		case err != nil:
		case p.Release.Recorded():
			err = a.options.makeRoom(p.Release, func(release *releases.Release) error {
				return p.connection.Records().AddRevision(ctx, release, past.Revision, content)
			})
		default:
			p.Release.Revisions = append(p.Release.Revisions, past.Revision)
			err = p.connection.Records().Create(ctx, p.Release, content)
		}
		if err != nil {
			return fmt.Errorf("recording revision %d: %w", past.Revision.Number, err)
		}
		// The next write records it.
		p.Release.Current().State = past.Revision.State
		p.past = p.past[1:]
	}
	return nil
}
