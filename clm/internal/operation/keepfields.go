// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/component-operator/runtime/clm/internal/dependents"
	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/internal/redact"
	"github.com/component-operator/runtime/pkg/reconciler"
)

// Conflicts say what happens to declared fields that belong to other field managers, and have other values.
type Conflicts string

const (
	// ConflictsDefault takes the fields, apart from those that an earlier revision leaves to others.
	ConflictsDefault Conflicts = ""
	// ConflictsForce takes all of them.
	ConflictsForce Conflicts = "force"
	// ConflictsKeep takes only those that the manifest has changed since the last revision that was ready, and leaves all others to their managers, in this revision and in later
	// ones.
	ConflictsKeep Conflicts = "keep"
)

// decide renders and compares, again and again until all conflicts are decided: fields that are left to others change the manifest. Each time there is at least one more of them.
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
	return p.keeper.noteRepeats(ctx, p)
}

// follow makes the plan again for the objects as they are now. It renders nothing: if it was made from sources, fields that others have changed since, and that are to be left to
// them, change its manifest. With compare, the server is asked what would happen to each object; ConflictsKeep does that in any case. If there is an error, follow may be
// called again.
func follow(ctx context.Context, p *Plan, compare bool) error {
	for again := true; again; {
		if err := ask(ctx, p, compare || p.keeper != nil && p.keeper.conflicts == ConflictsKeep); err != nil || p.keeper == nil {
			return err
		}
		var err error
		if again, err = p.keeper.choose(ctx, p); err != nil {
			return err
		}
		if err := p.keeper.extend(p); err != nil {
			return err
		}
	}
	p.keeper.note(p)
	return p.keeper.noteRepeats(ctx, p)
}

// extend has the manifest of a plan keep all fields that were chosen. If it is recorded, the revision becomes a new one that is made from the recorded one.
func (k *keeper) extend(p *Plan) error {
	content := p.Content
	content.Manifest = k.rules.Extend(content.Manifest, k.chosen)
	if slices.Equal(content.Manifest, p.Content.Manifest) {
		return nil
	}
	if !p.New {
		return p.Derive(content, k.description)
	}
	p.Content = content
	var err error
	p.Revision.Inputs, err = inputs(content, p.Revision)
	return err
}

// keepAtRollback completes the manifest of a revision to which a plan returns by the fields that the current one leaves to others, or takes all fields that the revision leaves to
// others with ConflictsForce. A rollback that is continued keeps its manifest. If its fields are to be taken, it becomes another rollback to the same revision.
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
	// description says what brings a new revision about.
	description string
	// chosen are fields of conflicts with the plan.
	chosen KeptFields
}

func newKeeper(request Request, last *lastManifest) *keeper {
	return &keeper{
		rules:     KeptFieldsRules{Prefix: releases.ReconcilerName + "/", Namespace: request.Namespace},
		conflicts: request.Conflicts, last: last, description: cmp.Or(request.Description, "applied"), chosen: KeptFields{},
	}
}

// complete returns a rendered manifest that says which fields are left to others. The last revision is read only if its record says that there are such fields. If all
// revisions are lost, the fields are those that the dependents in the cluster name.
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

// choose chooses those fields of conflicts that are to be left to others, and reports whether the plan has to be made again because of that. The error is a RefusedError if one of
// them cannot be left to others.
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

// isUnwritten reports whether a change is about an object that is recorded, but was never written, for example because the process died that wanted to adopt it: all that its
// manifest declares is a change, also if no revision was ready yet.
func isUnwritten(recorded []*reconciler.InventoryItem, change reconciler.Change) bool {
	return slices.ContainsFunc(recorded, func(item *reconciler.InventoryItem) bool {
		return item.Matches(change.Object) && item.Phase == reconciler.PhaseScheduledForApplication && item.UID == "" && item.LastAppliedAt == nil
	})
}

// confirmLost returns a RefusedError if there are conflicts about dependents although all revisions are lost: what the manifest changes is not known.
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
		if fields := k.fieldsOf(p, p.Changes[i]); fields != "" {
			p.Changes[i].Notes = append(p.Changes[i].Notes, "fields that are left to other field managers from now on: "+fields)
		}
	}
}

// fieldsOf returns the fields of a change that were chosen, separated by commas.
func (k *keeper) fieldsOf(p *Plan, change reconciler.Change) string {
	key := dependents.KeyOf(change.Object)
	key.Namespace = cmp.Or(key.Namespace, p.Release.Namespace)
	return redact.Text(strings.Join(k.chosen[key], ", "))
}

// nameFields adds to the error of an outdated plan which fields another plan would leave to other field managers.
func nameFields(ctx context.Context, p *Plan, err error) error {
	var stale *reconciler.StaleError
	if p.keeper == nil || p.keeper.conflicts != ConflictsKeep || !errors.As(err, &stale) || follow(ctx, p, true) != nil {
		return err
	}
	var texts []string
	for _, change := range p.Changes {
		if fields := p.keeper.fieldsOf(p, change); fields != "" {
			texts = append(texts, fmt.Sprintf("%s: %s", change.Object, fields))
		}
	}
	if len(texts) == 0 {
		return err
	}
	return fmt.Errorf("%w; the same command would now leave these fields to other field managers: %s", err, strings.Join(texts, "; "))
}

func hasConflicts(p *Plan) bool {
	for _, change := range p.Changes {
		if len(change.Conflicts) > 0 {
			return true
		}
	}
	return false
}
