// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apitypes "k8s.io/apimachinery/pkg/types"

	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/pkg/reconciler"
)

// lettingGo is what a release has recorded although other releases own it and render it, as after a move that was interrupted. The findings about
// these objects have their repair in common: one further revision.
type lettingGo struct {
	release apitypes.NamespacedName
	objects []reconciler.ObjectInfo
	// done means that it was tried; err is what came of it.
	done bool
	err  error
}

// letGo takes objects out of the record of a release. Nothing but the record is written: who owns an object is what its label says, and that is
// settled. Above all, nothing is applied, neither of this release nor of the other ones. Their records may have been written by people who have fewer
// rights than whoever repairs them, and what they have left to do may be deletions.
func (s *Session) letGo(l *lettingGo) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		if !l.done {
			l.done, l.err = true, s.underLock(ctx, l.release, func(ctx context.Context, o *operation) error { return o.amend(ctx, l.objects) })
		}
		return l.err
	}
}

// amend records that a release does not have those of the objects that belong to others.
func (o *operation) amend(ctx context.Context, objects []reconciler.ObjectInfo) error {
	plan, err := o.current(ctx, o.release.Namespace, o.release.Name)
	if err != nil {
		return err
	}
	had, err := o.possessions(plan)
	if err != nil {
		return err
	}
	var gone []possession
	receivers := map[string][]possession{}
	for _, object := range objects {
		at := find(had, possession{ObjectInfo: object})
		if at < 0 {
			continue
		}
		owner, err := o.ownerOf(ctx, object)
		switch {
		case apierrors.IsNotFound(err):
			continue
		case err != nil:
			return err
		case owner.label != "" && !owner.is(releases.OwnerID(plan.Release.Namespace, plan.Release.Name)):
			gone, receivers[owner.String()] = append(gone, had[at]), append(receivers[owner.String()], had[at])
		}
	}
	before := plan.Revision.Number
	if err := plan.leaveOut(gone, handedOver(receivers)); err != nil {
		return err
	}
	plan.forget(gone)
	if err := o.lock.Fence(ctx); err != nil {
		return fmt.Errorf("recording release %s: %w", plan.Release, err)
	}
	if plan.Revision.Number == before {
		return o.records.Save(ctx, plan.Release)
	}
	return o.records.Amend(ctx, plan.Release, plan.Revision, plan.Content)
}

// handedOver says to whom objects have gone over.
func handedOver(receivers map[string][]possession) string {
	var texts []string
	for receiver, objects := range receivers {
		slices.SortFunc(objects, func(a, b possession) int { return strings.Compare(a.String(), b.String()) })
		texts = append(texts, "handed over to "+receiver+": "+objectTexts(objects))
	}
	slices.Sort(texts)
	return strings.Join(texts, "; ")
}

// forget takes objects out of the inventory of a release that lets go of them. When that is recorded, they belong to others.
func (p *Plan) forget(objects []possession) {
	p.Release.Inventory = slices.DeleteFunc(p.Release.Inventory, func(item *reconciler.InventoryItem) bool {
		return slices.ContainsFunc(objects, func(object possession) bool { return keyOf(object) == keyOf(item) })
	})
}
