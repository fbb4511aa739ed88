// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/component-operator/runtime/internal/digest"
	"github.com/component-operator/runtime/internal/observe"
	"github.com/component-operator/runtime/pkg/cluster"
	"github.com/component-operator/runtime/pkg/status"
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

	// What follows does not change while objects are looked at side by side.
	namespaces  map[string]bool                          // that do not exist yet, and are among the objects
	definitions map[objectKey]*unstructured.Unstructured // of types that the server does not know as they will be
	types       typeSet                                  // that do not exist yet
}

func newPlanner(c *course, inventory []*InventoryItem, depth depth) *planner {
	return &planner{
		pass: c.pass, targets: c.prepared.targets, recorded: index(inventory), depth: depth,
		namespaces: map[string]bool{}, definitions: map[objectKey]*unstructured.Unstructured{}, types: typeSet{items: map[objectKey][]TypeVersionInfo{}},
	}
}

// view is what is known about an object, and, if the server was asked, the object.
type view struct {
	situation
	live *unstructured.Unstructured
}

// watchServed tells the observer of all kinds that the server knows.
func (p *planner) watchServed(ctx context.Context) error {
	var known []*target
	for _, t := range p.targets {
		served, err := p.knows(t.gvk())
		if err != nil {
			return err
		}
		if served {
			known = append(known, t)
		}
	}
	return p.watch(ctx, known, stageInstances)
}

// knows tells whether the server knows a type.
func (p *planner) knows(gvk schema.GroupVersionKind) (bool, error) {
	_, err := p.client.RESTMapper().RESTMapping(gvk.GroupKind(), gvk.Version)
	if cluster.IsNoMatch(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("finding type %s: %w", gvk.GroupKind(), err)
	}
	return true, nil
}

// comes remembers what will exist, or be different, when the objects are applied that depend on it.
func (p *planner) comes(t *target, change Change) {
	switch {
	case change.Verb != VerbCreated:
	case isNamespace(t.key.GroupKind):
		p.namespaces[t.key.name] = true
	default:
		p.types.items[t.key] = t.managedTypes
	}
}

// absent tells whether an object cannot exist, because its namespace or its type does not.
func (p *planner) absent(item *InventoryItem) (bool, error) {
	if p.namespaces[item.Namespace] {
		return true, nil
	}
	if len(p.types.definitions(item.GroupVersionKind())) == 0 {
		return false, nil
	}
	served, err := p.knows(item.GroupVersionKind())
	return !served, err
}

// regard returns what is known about an object, asking the server only if the observer cannot tell.
func (p *planner) regard(ctx context.Context, item *InventoryItem) (view, error) {
	absent, err := p.absent(item)
	if err != nil || absent {
		return view{situation: situation{owner: p.label, proven: true}}, err
	}
	seen, known := p.options.Observer.Get(item.GroupVersionKind(), item.Namespace, item.Name)
	switch {
	case known == observe.Present && !p.expired(seen):
		return view{situation: situation{owner: p.label, exists: true, seen: seen}}, nil
	case known == observe.Absent:
		return view{situation: situation{owner: p.label}}, nil
	default:
		return p.demand(ctx, item)
	}
}

// demand returns what the server says about an object, in whatever version it serves it.
func (p *planner) demand(ctx context.Context, item *InventoryItem) (view, error) {
	s, live, err := p.fetch(ctx, item)
	if err == nil && !s.exists && !s.typed {
		probe := *item // goes over to a version that is served
		if s, err = p.askServed(ctx, &probe); err == nil && s.exists {
			s, live, err = p.fetch(ctx, &probe)
		}
	}
	return view{situation: s, live: live}, err
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

// redundant returns what would become of an object that is no longer wanted.
func (p *planner) redundant(ctx context.Context, item *InventoryItem) (Change, error) {
	change := Change{Object: ObjectInfo{TypeVersionInfo: item.TypeVersionInfo, NameInfo: item.NameInfo}, Wave: item.DeleteOrder}
	return change, p.foreseeEnd(ctx, &change, item, deletion{orphan: item.DeletePolicy.orphanedOnApply(), verb: VerbDeleted}, "is no longer wanted")
}

// foreseeApply decides as applyOne does.
func (p *planner) foreseeApply(ctx context.Context, change *Change, t *target) error {
	item := p.item(t)
	v, err := p.regard(ctx, item)
	for attempt := 0; err == nil && attempt < maxAttempts; attempt++ {
		v.situation = p.paced(t, v.situation)
		d := decideApply(t, item, v.situation)
		if p.unsure(d, v) {
			v, err = p.demand(ctx, item)
			continue
		}
		change.saw(v)
		p.foretell(change, t, d, v)
		return nil
	}
	if err == nil {
		change.Reason = "is being changed by others all the time"
		return nil
	}
	return fmt.Errorf("looking at %s: %w", t.key, err)
}

// unsure tells whether the server has to be asked before a decision counts.
func (p *planner) unsure(d decision, v view) bool {
	if v.live != nil {
		return false
	}
	switch d.action {
	case actionAsk:
		return true
	case actionCreate:
		return p.depth == depthAsked && !v.proven
	case actionApply, actionRecreate:
		return p.depth == depthCompared || p.depth == depthAsked && d.verb == VerbAdopted
	case actionVerify, actionCompare:
		return p.depth == depthCompared
	case actionKeep, actionAwait, actionComplete, actionReport, actionRefuse:
		return false
	default:
		return false
	}
}

// foretell turns a decision into what would be done.
func (p *planner) foretell(change *Change, t *target, d decision, v view) {
	item := p.item(t)
	change.Reason = d.message
	switch d.action {
	case actionRefuse:
		change.Reason, change.Refusal = "", d.message
	case actionAwait:
		// The object that is being deleted is none of those on which the change depends.
		change.UID, change.Fingerprint, change.Baseline = "", "", ""
		next := decideApply(t, item, situation{owner: p.label, proven: true, typed: true})
		change.Verb = next.verb
	case actionCreate, actionApply, actionRecreate, actionComplete:
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

// foretellEnd is about an object that stays as it is, unless it has served its purpose or failed.
func (p *planner) foretellEnd(change *Change, t *target, v view) {
	switch {
	case !v.exists:
	case t.purgeOnFailure && v.seen.Status == status.FailedStatus && p.item(t).written():
		change.Verb, change.Reason = VerbDeleted, "has failed"
	case t.purgeOrder != nil:
		change.Verb, change.Reason = VerbCompleted, "has served its purpose"
	}
}

// foreseeEnd decides as deleteOne does.
func (p *planner) foreseeEnd(ctx context.Context, change *Change, item *InventoryItem, d deletion, why string) error {
	v, err := p.regard(ctx, item)
	if err == nil && v.live == nil && !v.proven && (p.depth == depthCompared || p.depth == depthAsked && !v.exists) {
		v, err = p.demand(ctx, item)
	}
	if err != nil {
		return fmt.Errorf("looking at %s: %w", keyOf(item), err)
	}
	change.saw(v)
	ending, message := decideDelete(item, v.situation, d.orphan)
	change.Reason = why
	switch ending {
	case endingGone:
		if item.Phase == PhaseDeleting || item.Phase == PhaseCompleting {
			change.Verb = d.verb
		}
		change.Reason += "; there is no such object of ours any more"
	case endingAwait:
		change.Verb = d.verb
		change.Reason += "; " + message
	case endingDelete:
		change.Verb = d.verb
	case endingOrphan:
		change.Verb = VerbOrphaned
	case endingRefuse:
		change.Reason, change.Refusal = "", message
	}
	return nil
}

// saw notes the state on which a change is decided.
func (c *Change) saw(v view) {
	c.UID, c.Fingerprint, c.Baseline = "", "", ""
	if v.exists {
		c.UID, c.Fingerprint, c.Baseline = v.seen.UID, v.seen.Fingerprint, v.seen.Baseline()
	}
}
