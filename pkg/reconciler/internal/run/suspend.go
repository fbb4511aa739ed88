// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/component-operator/runtime/internal/concurrent"
	"github.com/component-operator/runtime/internal/observe"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/decide"
	"github.com/component-operator/runtime/pkg/reconciler/internal/prepare"
	"github.com/component-operator/runtime/pkg/types"
)

// Suspend applies the suspended forms among the desired objects, wave by wave in reversed order, and reports whether
// all are suspended. It leaves all other objects alone, and creates none.
func (w *Waves) Suspend(ctx context.Context, wanted []*prepare.Object) (done bool, err error) {
	if err := w.extractAll(ctx, wanted); err != nil {
		return false, err
	}
	forms := slices.DeleteFunc(slices.Clone(wanted), func(t *prepare.Object) bool { return !t.Suspended })
	waves := prepare.Group(forms, func(t *prepare.Object) int { return t.ApplyOrder })
	for _, wave := range slices.Backward(waves) {
		suspended, err := w.suspendWave(ctx, wave)
		if err != nil || !suspended {
			w.call.Report.StopsAt(wave[0].ApplyOrder, len(wave))
			return false, err
		}
		if err := w.call.Ledger.Checkpoint(ctx); err != nil {
			return false, err
		}
	}
	return true, nil
}

// suspendWave suspends the members of a wave, and reports whether all are suspended. Members that are deleted when they
// are suspended are deleted in their delete order.
func (w *Waves) suspendWave(ctx context.Context, wave []*prepare.Object) (suspended bool, err error) {
	present, err := w.present(ctx, wave)
	if err != nil {
		return false, err
	}
	var stage progress
	forms, held, err := w.steps.forms(ctx, present)
	if err != nil {
		return false, err
	}
	stage.ready = !held
	for _, members := range prepare.Group(forms, w.call.Tiers.Of) {
		unready, err := w.applyTier(ctx, members)
		if err != nil {
			return false, fmt.Errorf("suspending %s: %w", types.WaveText(wave[0].ApplyOrder), err)
		}
		for _, o := range unready {
			w.noteUnready(o, &stage)
		}
	}
	if !stage.ready {
		return false, nil
	}
	for _, t := range wave {
		if item := w.call.Ledger.Of(t); t.Vanishing && decide.IsWritten(item) && !slices.Contains(present, t) {
			// The process that has deleted it could not record that.
			decide.Vanish(item)
		}
	}
	vanishing := slices.DeleteFunc(present, func(t *prepare.Object) bool { return !t.Vanishing })
	slices.SortStableFunc(vanishing, func(a, b *prepare.Object) int { return cmp.Compare(a.DeleteOrder, b.DeleteOrder) })
	for _, members := range prepare.Group(vanishing, func(t *prepare.Object) int { return t.DeleteOrder }) {
		if gone, err := w.vanish(ctx, members); err != nil || !gone {
			return false, err
		}
	}
	return true, nil
}

// extractAll extracts the data that late suspended forms need, and reads objects of others. The forms are made without
// data that are missing.
func (w *Waves) extractAll(ctx context.Context, wanted []*prepare.Object) error {
	if w.steps == nil || !slices.ContainsFunc(wanted, func(t *prepare.Object) bool { return t.Suspended && t.Late }) {
		return nil
	}
	for _, t := range wanted {
		if _, _, err := w.steps.read(ctx, t, false); err != nil {
			return err
		}
	}
	present, err := w.present(ctx, slices.DeleteFunc(slices.Clone(wanted), func(t *prepare.Object) bool { return !t.Extracting }))
	if err != nil {
		return err
	}
	for _, t := range present {
		object, err := w.steps.lookWhole(ctx, t)
		if err != nil {
			return err
		}
		if object != nil {
			_ = w.steps.extract(t, object)
		}
	}
	return nil
}

// present returns the members of a wave that exist.
func (w *Waves) present(ctx context.Context, wave []*prepare.Object) ([]*prepare.Object, error) {
	var all outcomes
	concurrent.All(w.call.Server.Concurrency, wave, func(t *prepare.Object) {
		item := w.call.Ledger.Of(t)
		_, view := w.call.Server.Observer.Get(t.GVK(), t.Key.Namespace, t.Key.Name)
		exists := view == observe.Present
		var err error
		if !exists && decide.MayExist(item) {
			var s decide.Situation
			s, err = w.execution.look(ctx, item)
			exists = s.Exists
		}
		all.add(outcome{item: item, ready: exists, stays: !exists}, err)
	})
	present := slices.DeleteFunc(slices.Clone(wave), func(t *prepare.Object) bool { return !slices.Contains(all.ready, w.call.Ledger.Of(t)) })
	return present, all.Err()
}

// vanish deletes objects that are suspended, and reports whether all of them are gone. Their items stay, like items of
// objects that have still to be applied.
func (w *Waves) vanish(ctx context.Context, members []*prepare.Object) (gone bool, err error) {
	var all outcomes
	concurrent.All(w.call.Server.Concurrency, members, func(t *prepare.Object) {
		o, err := w.deleteCopy(ctx, w.call.Ledger.Of(t), decide.Deletion{Verb: inventory.VerbDeleted, Wave: t.ApplyOrder, Why: "is deleted when it is suspended"}, decide.Vanish)
		all.add(o, err)
	})
	for _, o := range all.unready {
		w.call.Report.Awaits(o.item, o.message)
	}
	return len(all.unready) == 0 && all.Err() == nil, all.Err()
}
