// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/internal/texts"
	"github.com/component-operator/runtime/pkg/reconciler"
)

// Conflicts say what happens to declared fields that belong to other field managers, and have other values.
type Conflicts string

const (
	// ConflictsDefault takes the fields, apart from those that an earlier revision leaves to others.
	ConflictsDefault Conflicts = ""
	// ConflictsForce takes all of them.
	ConflictsForce Conflicts = "force"
	// ConflictsKeep takes only those that the manifest has changed since the last revision that was ready, and leaves
	// all others to their managers, in this revision and in later ones.
	ConflictsKeep Conflicts = "keep"
)

// decide renders and compares, again and again until all conflicts are decided: fields that are left to others change
// the manifest. Each time there is at least one more of them.
func decide(ctx context.Context, p *Plan, request Request, compare bool) error {
	p.keeper = newKeeper(request, newLastManifest(p.connection, p.Release))
	for again := true; again; {
		if err := p.render(ctx, request); err != nil {
			return err
		}
		if err := p.Compare(ctx, compare || request.Conflicts == ConflictsKeep); err != nil {
			return err
		}
		var err error
		if again, err = p.keeper.choose(ctx, p); err != nil {
			return err
		}
	}
	p.keeper.note(p)
	return nil
}

// keepAtRollback completes the manifest of a revision to which a plan returns by the fields that the current one leaves
// to others, or takes all fields that the revision leaves to others with ConflictsForce. A rollback that is continued
// keeps its manifest. If its fields are to be taken, it becomes another rollback to the same revision.
func keepAtRollback(ctx context.Context, p *Plan, request RollbackRequest) error {
	last := newLastManifest(p.connection, p.Release)
	k := newKeeper(Request{Namespace: request.Namespace, Conflicts: request.Conflicts}, last)
	manifest := p.Content.Manifest
	var err error
	switch {
	case request.Conflicts == ConflictsForce:
		manifest = k.rules.Strip(manifest)
	case p.New:
		manifest, err = k.complete(ctx, manifest)
	}
	if err != nil || slices.Equal(manifest, p.Content.Manifest) {
		return err
	}
	if !p.New {
		p.returnTo(cmp.Or(p.Revision.Target, p.Revision.Number), cmp.Or(request.Description, p.Revision.Description))
	}
	p.Content.Manifest = manifest
	p.Revision.Inputs, err = inputs(p.Content, p.Revision)
	return err
}

// keeper decides which fields a plan leaves to others.
type keeper struct {
	rules     KeptFieldsRules
	conflicts Conflicts
	last      *lastManifest
	// chosen are fields of conflicts with the plan.
	chosen KeptFields
}

func newKeeper(request Request, last *lastManifest) *keeper {
	return &keeper{
		rules:     KeptFieldsRules{Prefix: releases.ReconcilerName + "/", Namespace: request.Namespace},
		conflicts: request.Conflicts, last: last, chosen: KeptFields{},
	}
}

// complete returns a rendered manifest that says which fields are left to others. The last revision is read only if its
// record says that there are such fields. If all revisions are lost, the fields are those that the dependents in the
// cluster name.
func (k *keeper) complete(ctx context.Context, rendered []*unstructured.Unstructured) ([]*unstructured.Unstructured, error) {
	current := k.last.release.Current()
	if k.conflicts != ConflictsForce && k.last.isLost {
		kept, err := k.last.kept(ctx, k.rules, rendered)
		return k.rules.Keep(rendered, kept), err
	}
	if k.conflicts == ConflictsForce || current == nil || !current.KeepsFields && !k.last.isRead() && len(k.chosen) == 0 {
		return rendered, nil
	}
	recorded, err := k.last.readForFields(ctx)
	if err != nil {
		return nil, err
	}
	return k.rules.Carry(rendered, recorded, k.chosen), nil
}

// choose chooses those fields of conflicts that are to be left to others, and reports whether the plan has to be made
// again because of that. The error is a RefusedError if one of them cannot be left to others.
func (k *keeper) choose(ctx context.Context, p *Plan) (again bool, err error) {
	if k.conflicts == ConflictsKeep && k.last.isLost {
		return false, k.confirmLost(p)
	}
	if k.conflicts != ConflictsKeep || !hasConflicts(p) || k.last.release.Current() == nil {
		return false, nil
	}
	recorded, err := k.last.sinceReady(ctx)
	if err != nil {
		return false, err
	}
	written := slices.DeleteFunc(slices.Clone(p.Changes), func(change reconciler.Change) bool { return isUnwritten(p.Release.Inventory, change) })
	chosen, err := k.rules.Choose(p.Content.Manifest, recorded, written)
	return err == nil && k.chosen.Add(chosen), err
}

// isUnwritten reports whether a change is about an object that is recorded, but was never written, for example because
// the process died that wanted to adopt it: all that its manifest declares is a change, also if no revision was ready
// yet.
func isUnwritten(recorded []*reconciler.InventoryItem, change reconciler.Change) bool {
	return slices.ContainsFunc(recorded, func(item *reconciler.InventoryItem) bool {
		return item.Matches(change.Object) && item.Phase == reconciler.PhaseScheduledForApplication && item.UID == "" && item.LastAppliedAt == nil
	})
}

// confirmLost returns a RefusedError if there are conflicts about dependents although all revisions are lost: what the
// manifest changes is not known.
func (k *keeper) confirmLost(p *Plan) error {
	recorded := slices.DeleteFunc(slices.Clone(p.Changes), func(change reconciler.Change) bool {
		return !slices.ContainsFunc(p.Release.Inventory, func(item *reconciler.InventoryItem) bool { return item.Matches(change.Object) })
	})
	fields, err := k.rules.Choose(p.Content.Manifest, [][]*unstructured.Unstructured{p.Content.Manifest}, recorded)
	if err == nil && len(fields) > 0 {
		err = k.last.unknown(errors.New("the record was lost, and what its revisions declared with it"))
	}
	return err
}

// note says in the plan which fields it leaves to others from now on.
func (k *keeper) note(p *Plan) {
	for i := range p.Changes {
		if fields := k.chosen[k.rules.KeyOf(p.Changes[i].Object)]; len(fields) > 0 {
			p.Changes[i].Notes = append(p.Changes[i].Notes, "fields that are left to other field managers from now on: "+texts.Text(strings.Join(fields, ", ")))
		}
	}
}

func hasConflicts(p *Plan) bool {
	for _, change := range p.Changes {
		if len(change.Conflicts) > 0 {
			return true
		}
	}
	return false
}
