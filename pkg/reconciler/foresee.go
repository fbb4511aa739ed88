// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/component-operator/runtime/internal/digest"
)

// depth says how much is asked of the server in order to plan.
type depth int

const (
	depthTold     depth = iota // nothing that the observer can tell
	depthAsked                 // also whether there is what the observer does not see
	depthCompared              // also what would become of what is to be changed
)

// planner looks at the dependents of a pass without changing anything.
type planner struct {
	*pass
	targets  []*target
	recorded map[objectKey]*InventoryItem // before this pass
	depth    depth

	createsNamespaces bool
	leftAlone         bool // compare also what is left alone

	// What follows does not change while objects are looked at side by side.
	namespaces  map[string]bool                            // that do not exist yet, and are among the objects
	known       map[schema.GroupVersionKind]bool           // whether the server knows the types of the targets
	types       typeSet                                    // that do not exist yet, and are defined by objects
	definitions map[schema.GroupKind]map[string]openSchema // of types that the server does not know as they will be, by version
}

func newPlanner(c *course, inventory []*InventoryItem, depth depth) *planner {
	return &planner{
		pass: c.pass, targets: c.prepared.targets, recorded: index(inventory), depth: depth,
		namespaces: map[string]bool{}, known: map[schema.GroupVersionKind]bool{}, types: typeSet{items: map[objectKey][]TypeVersionInfo{}},
		definitions: map[schema.GroupKind]map[string]openSchema{},
	}
}

// comes remembers what will exist, or be different, when the objects are applied that depend on it.
func (p *planner) comes(t *target, change Change) error {
	created := change.Verb == VerbCreated
	if isNamespace(t.key.GroupKind) {
		p.namespaces[t.key.name] = created
		return nil
	}
	if created {
		p.types.items[t.key] = t.managedTypes
	}
	altered := change.Before != nil && change.After != nil && !reflect.DeepEqual(change.Before.Object["spec"], change.After.Object["spec"])
	if p.depth != depthCompared || !isCRD(t.key.GroupKind) || !created && !altered {
		return nil
	}
	definition, err := p.object(t)
	if err != nil {
		return err
	}
	for _, managed := range t.managedTypes {
		p.definitions[schema.GroupKind{Group: managed.Group, Kind: managed.Kind}] = openSchemas(definition)
	}
	return nil
}

// wanted returns what would become of a wanted object.
func (p *planner) wanted(ctx context.Context, t *target) (Change, error) {
	item := p.item(t)
	change, err := p.change(t)
	if err != nil {
		return change, err
	}
	switch {
	case item.Phase == PhaseCompleted, item.completing() && t.purgeOrder == nil:
		return change, nil
	case item.completing():
		return change, p.foreseeEnd(ctx, &change, item, deletion{verb: VerbCompleted}, "has served its purpose")
	case item.dismissed():
		change.Reason = "failed, and was deleted"
		return change, nil
	case item.Phase == PhaseFailed:
		return change, p.foreseeEnd(ctx, &change, item, deletion{verb: VerbDeleted}, "has failed")
	default:
		return change, p.foreseeApply(ctx, &change, t)
	}
}

// change returns what is known of a change without looking at the object.
func (p *planner) change(t *target) (Change, error) {
	item := p.item(t)
	change := Change{Object: ObjectInfo{TypeVersionInfo: item.TypeVersionInfo, NameInfo: item.NameInfo}, Wave: t.applyOrder}
	content := t.digest
	if content == digestOnce && item.Phase == PhaseScheduledForApplication {
		// What is applied once has yet to be.
		object, err := p.object(t)
		if err != nil {
			return change, err
		}
		if content, err = objectDigest(object, ReconcilePolicyOnObjectChange, ""); err != nil {
			return change, err
		}
	}
	sum, err := digest.Of([]string{content, string(t.adoption), string(t.reconcile), string(t.update), string(t.delete), string(t.drift)})
	if err != nil {
		return change, fmt.Errorf("computing the digest of %s: %w", t.key, err)
	}
	change.Digest = sum[:len(sum)/2]
	return change, nil
}

// foreseePause is how long to wait before a dry run is repeated for the first time because the object changed in between; it doubles each time. A
// controller that is at work on the object writes its status several times within a second.
const foreseePause = 100 * time.Millisecond

// foreseeApply decides as applyOne does. Unlike that, nobody calls it again later; so it waits between attempts.
func (p *planner) foreseeApply(ctx context.Context, change *Change, t *target) error {
	item := p.item(t)
	v, err := p.regard(ctx, item)
	for attempt := 0; err == nil && attempt < maxAttempts; attempt++ {
		v.situation = p.paced(t, v.situation)
		d := decideApply(t, item, v.situation)
		if p.unsure(t, d, v) {
			v, err = p.demand(ctx, item)
			continue
		}
		p.saw(change, v)
		p.foretell(change, t, d, v)
		if p.depth != depthCompared {
			return nil
		}
		var again bool
		if again, err = p.rehearse(ctx, change, t, d, v); err == nil && !again {
			if err := p.mindHeld(ctx, change, item, v.live); err != nil {
				return err
			}
			return p.showEnd(ctx, change, item, v)
		}
		if err != nil {
			return err
		}
		if err = pause(ctx, foreseePause<<attempt); err == nil {
			v, err = p.demand(ctx, item)
		}
	}
	if err == nil {
		change.Reason = changedAllTheTime
		return nil
	}
	return fmt.Errorf("looking at %s: %w", t.key, err)
}

// pause waits, unless the context ends first.
func pause(ctx context.Context, atMost time.Duration) error {
	timer := time.NewTimer(atMost)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}

// unsure tells whether the server has to be asked before a decision counts.
func (p *planner) unsure(t *target, d decision, v view) bool {
	if v.live != nil {
		return false
	}
	switch d.action {
	case actionAsk:
		return true
	case actionCreate:
		return !v.proven && (p.depth == depthAsked || p.depth == depthCompared && p.isLocal(t))
	case actionApply, actionRecreate, actionMark:
		return p.depth == depthCompared || p.depth == depthAsked && d.verb == VerbAdopted
	case actionVerify, actionCompare:
		return p.depth == depthCompared
	case actionKeep, actionReport:
		return p.isLeftAlone(t, d, v)
	case actionAwait, actionComplete, actionRefuse:
		return false
	default:
		return false
	}
}

// foretell turns a decision into what would be done.
func (p *planner) foretell(change *Change, t *target, d decision, v view) {
	item := p.item(t)
	change.Verb, change.Recreate, change.Reason = "", false, d.message
	switch d.action {
	case actionRefuse:
		change.Reason, change.Refusal, change.Foreign = "", d.message, v.seen.Record == ""
	case actionAwait:
		next := decideApply(t, item, situation{owner: p.label, proven: true, typed: true})
		change.Verb = next.verb
	case actionCreate, actionApply, actionRecreate, actionMark, actionComplete:
		change.Verb, change.Recreate = d.verb, d.action == actionRecreate
		change.Reason = p.because(t, d)
	case actionKeep, actionAsk, actionVerify, actionCompare, actionReport:
		p.foretellEnd(change, t, v)
	}
}

// because says more exactly why a manifest is applied.
func (p *planner) because(t *target, d decision) string {
	recorded := p.recorded[t.key]
	switch {
	case d.verb != VerbUpdated || recorded == nil:
		return d.message
	case recorded.byAncestor():
		return "was recorded by other rules"
	case recorded.Digest == t.digest:
		return "was not written yet"
	case recorded.unwanted():
		return "is wanted again"
	case t.reconcile == ReconcilePolicyOnObjectOrComponentChange && sameManifest(recorded.Digest, t.digest):
		return "the owner changed"
	default:
		return d.message
	}
}

// sameManifest tells whether two digests differ at most in what they say about the owner.
func sameManifest(a, b string) bool {
	a, _, _ = strings.Cut(a, "@")
	b, _, _ = strings.Cut(b, "@")
	return a == b
}
