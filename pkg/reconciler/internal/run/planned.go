// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/component-operator/runtime/internal/observe"
	"github.com/component-operator/runtime/pkg/cluster"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/decide"
	"github.com/component-operator/runtime/pkg/reconciler/internal/execute"
	"github.com/component-operator/runtime/pkg/reconciler/internal/guard"
	"github.com/component-operator/runtime/pkg/reconciler/internal/prepare"
	"github.com/component-operator/runtime/pkg/types"
)

// depth determines for which objects and changes a plan makes requests.
type depth int

const (
	depthTold     depth = iota // objects that the observer knows nothing about
	depthAsked                 // also objects that may exist without our label
	depthCompared              // also dry runs of changes
)

// planned is the execution that records decisions, and changes nothing. It is safe for concurrent use for different
// dependents.
type planned struct {
	call *Call

	waves    *Waves
	preview  *execute.Preview
	depth    depth
	recorded map[types.ObjectID]*inventory.Item // before this call
	entries  map[types.ObjectID]*entry
	held     *inventory.HeldDeletions // what would not be deleted without approval; nil if there is nothing

	// The fields below do not change during concurrent work.
	served map[schema.GroupVersionKind]bool // whether the types of instances are served
	types  prepare.TypeSet                  // types that Apply would create
}

// entry is the planned change of an object.
type entry struct {
	inventory.Change

	closed bool // nothing more is planned for the object, because what happens to it is not known before the change is made
	held   bool // the object is not deleted without approval
	looked bool // it was looked at with the result below
	seen   decide.Situation
	err    error
}

// endTier notes the namespaces and types that Apply would create or change, for the objects that need them.
func (p *planned) endTier(tier []*prepare.Object) {
	for _, t := range tier {
		change := &p.entries[t.Key].Change
		created := change.Verb == inventory.VerbCreated || change.Verb == inventory.VerbRestored
		if prepare.IsNamespace(t.Key.GroupKind) {
			p.preview.Namespaces[t.Key.Name] = created
		}
		if !prepare.DefinesTypes(t.Key.GroupKind) {
			continue
		}
		if created {
			p.types.Items[t.Key] = t.ManagedTypes
		}
		altered := change.Before != nil && change.After != nil && !reflect.DeepEqual(change.Before.Object["spec"], change.After.Object["spec"])
		if p.depth == depthCompared && prepare.IsCRD(t.Key.GroupKind) && (created || altered) {
			p.preview.NoteDefinition(t)
		}
	}
}

func addReason(change *inventory.Change, reason string) {
	if change.Reason != "" {
		reason = change.Reason + "; " + reason
	}
	change.Reason = reason
}

func (p *planned) settle(*prepare.Object) (outcome, bool) { return outcome{}, false }

// passed is the outcome for each object.
func (p *planned) passed(item *inventory.Item) outcome {
	return outcome{item: item, ready: true, stays: true, keepsBarrier: true}
}

func (p *planned) dismissed(item *inventory.Item) outcome {
	if decide.IsDismissed(item) {
		p.entries[types.IDOf(item)].Reason = "failed, and was deleted"
	}
	return p.passed(item)
}

// depthOf returns the depth for an object. The announced manifest of a late object cannot be compared.
func (p *planned) depthOf(t *prepare.Object) depth {
	if t.Late {
		return min(p.depth, depthAsked)
	}
	return p.depth
}

// apply records a decision. The decision must be repeated (again) after a read if more information is needed, or the
// object has changed.
func (p *planned) apply(ctx context.Context, t *prepare.Object, s decide.Situation, d decide.Decision) (o outcome, again bool, err error) {
	if p.mustRead(t, d, s) {
		return o, true, nil
	}
	item, e := p.call.Ledger.Of(t), p.entries[t.Key]
	NoteState(&e.Change, s, p.call.Server.Keys)
	p.describe(&e.Change, t, d, s)
	if p.depthOf(t) == depthCompared {
		if again, err = p.show(ctx, t, d, s); err == nil && !again {
			err = p.checkRecreation(ctx, &e.Change, item, s.Live)
		}
		if again || err != nil {
			return o, again, err
		}
	}
	p.addBehaviors(&e.Change, t)
	if e.closed = e.Verb != "" || !s.Exists || !isUpToDate(d); !e.closed {
		e.seen, e.looked = s, true
		// It may be purged.
		if decide.IsWritten(item) {
			item.Phase, item.Status = inventory.PhaseReady, s.Seen.Status
		}
	}
	return p.passed(item), false, nil
}

// show adds the content of a change. A dry run of a CustomResourceDefinition whose instances have to be stored again
// first would fail.
func (p *planned) show(ctx context.Context, t *prepare.Object, d decide.Decision, s decide.Situation) (again bool, err error) {
	change := &p.entries[t.Key].Change
	if !prepare.IsCRD(t.Key.GroupKind) || s.Live == nil || d.Action != decide.Write && d.Action != decide.Verify {
		return p.preview.Show(ctx, change, t, d, s)
	}
	upgrade, err := p.call.upgrade(t, s.Live)
	if err != nil {
		return false, err
	}
	if leaving := upgrade.Leaving(); len(leaving) > 0 {
		addReason(change, "its instances are stored in another version first, because a version is removed: "+strings.Join(leaving, ", "))
		err = p.preview.Compute(change, t, s)
	} else {
		again, err = p.preview.Show(ctx, change, t, d, s)
	}
	if again || err != nil || change.Refusal != "" {
		return again, err
	}
	change.Refusal, err = upgrade.Refusal(ctx)
	return false, err
}

// addBehaviors adds a note about decisions that behaviors make only when an object is applied. A plan does not ask
// them.
func (p *planned) addBehaviors(change *inventory.Change, t *prepare.Object) {
	switch {
	case t.Late && change.Refusal == "":
		addReason(change, "its manifest is completed when it is applied")
	case t.Guarded && change.Verb != "":
		addReason(change, "its guard may hold it back")
	}
}

// isUpToDate reports whether a decision leaves an object as it is, or may do so.
func isUpToDate(d decide.Decision) bool {
	return slices.Contains([]decide.Action{decide.Keep, decide.Verify, decide.Compare, decide.Report}, d.Action)
}

func (p *planned) unsettled(t *prepare.Object, message string, err error) (outcome, error) {
	if err != nil {
		return outcome{}, err
	}
	p.entries[t.Key].Reason = message
	return p.passed(p.call.Ledger.Of(t)), nil
}

// hold records that redundant objects stay until their deletion is approved.
func (p *planned) hold(ctx context.Context, concerned []*Candidate, held *inventory.HeldDeletions) (awaited bool, err error) {
	p.held = held
	for _, candidate := range concerned {
		e := p.entries[types.IDOf(candidate.Item)]
		e.held = true
		if _, err := p.waves.deleteOne(ctx, candidate.Item, decide.Deletion{Verb: inventory.VerbDeleted, Why: p.waves.Why}); err != nil {
			return false, err
		}
		e.Verb, e.Stays = "", true
		e.Reason += "; it is kept until its deletion is approved: " + held.String()
	}
	return false, nil
}

// retained is the reason for keeping an object that has no prune policy to keep it.
const retained = "; it is kept because other objects are kept that would be deleted with it"

// end records a decision about an object that should be gone.
func (p *planned) end(ctx context.Context, item *inventory.Item, s decide.Situation, d decide.Deletion, action decide.Ending, message string) (outcome, error) {
	e := p.entries[types.IDOf(item)]
	if e.closed {
		return p.passed(item), nil
	}
	change := &e.Change
	NoteState(change, s, p.call.Server.Keys)
	change.Reason = d.Why
	describeEnd(change, item, d, action, message)
	if action == decide.Stay {
		if p.call.Losses.Retains(item) {
			change.Reason = d.Why + retained
		}
		p.call.Losses.Stay(item)
	}
	if reason := p.call.Owner.WhyOrphaned(item); reason != "" && action == decide.Orphan {
		change.Reason += "; it " + reason
	}
	if p.depth != depthCompared || change.Verb == "" || s.Live == nil || e.held {
		return p.passed(item), nil
	}
	change.Before = execute.Presentable(s.Live, p.call.Server.Keys)
	if action == decide.Orphan {
		change.After = p.preview.Orphaned(s.Live)
		return p.passed(item), nil
	}
	return p.passed(item), p.addBlockers(ctx, change, item)
}

func (p *planned) unended(item *inventory.Item, d decide.Deletion, message string, err error) (outcome, error) {
	if err != nil && !apierrors.IsForbidden(err) {
		return outcome{}, err
	}
	// Apply meets this error only after it has applied all objects.
	e := p.entries[types.IDOf(item)]
	e.Verb, e.Reason = d.Verb, d.Why+"; "+message
	if err != nil {
		e.Reason = fmt.Sprintf("%s; it cannot be read: %s", d.Why, err)
	}
	if p.call.Prune(item, observe.Observation{}) == inventory.PrunePolicyKeep {
		e.Verb, e.Stays = "", true
		p.call.Losses.Stay(item)
	}
	return p.passed(item), nil
}

// addBlockers adds the blockers of the deletion of an object that defines types, or contains other objects.
func (p *planned) addBlockers(ctx context.Context, change *inventory.Change, item *inventory.Item) error {
	if prepare.IsNamespace(item.GroupVersionKind().GroupKind()) {
		message, err := p.call.Losses.HoldNamespace(ctx, item)
		if err != nil || message == "" {
			return err
		}
		change.Reason += "; " + message
		orphaned, err := p.call.Losses.IsMarkedOrphan(ctx, item)
		if orphaned {
			change.Verb, change.After = inventory.VerbOrphaned, p.preview.Orphaned(change.Before)
		}
		return err
	}
	if !prepare.DefinesTypes(item.GroupVersionKind().GroupKind()) {
		return nil
	}
	// Instances of the owner are deleted before.
	defined, err := p.call.Losses.DefinedBy(ctx, item)
	if err != nil {
		return err
	}
	blockers, err := p.call.Losses.Instances(ctx, defined, p.call.Owner.Label)
	switch {
	case apierrors.IsForbidden(err):
		// Apply meets this error when it comes to the object.
		change.Reason += "; it is not known whether there are instances of its types: " + err.Error()
		return nil
	case err == nil && len(blockers) > 0:
		change.Reason += "; kept while there are instances of its types: " + guard.Texts(blockers)
	}
	return err
}

// checkRecreation refuses to recreate an object whose content would be lost.
func (p *planned) checkRecreation(ctx context.Context, change *inventory.Change, item *inventory.Item, live *unstructured.Unstructured) error {
	if !change.Recreate || live == nil {
		return nil
	}
	reason, err := p.call.Losses.KeepsFromRecreation(ctx, item, live.GetUID(), live)
	if err != nil {
		return fmt.Errorf("looking at %s: %w", types.IDOf(item), err)
	}
	if reason != "" {
		change.Refusal = reason
	}
	return nil
}

// describeEnd completes a change, which has a reason already, from a decision about an object that should be gone.
func describeEnd(c *inventory.Change, item *inventory.Item, d decide.Deletion, ending decide.Ending, message string) {
	switch ending {
	case decide.Gone:
		if message != "" {
			c.Reason += "; it " + message
			return
		}
		if item.Phase == inventory.PhaseDeleting || item.Phase == inventory.PhaseCompleting {
			c.Verb = d.Verb
		}
		c.Reason += "; it no longer exists as a dependent"
	case decide.Forget:
		c.Reason += "; it " + message
	case decide.AwaitEnd:
		c.Verb = d.Verb
		c.Reason += "; " + message
	case decide.RequestDeletion, decide.AwaitApproval:
		c.Verb = d.Verb
	case decide.Stay:
		c.Stays = true
		c.Reason += "; it " + message
	case decide.Orphan:
		c.Verb = inventory.VerbOrphaned
	case decide.RefuseEnd:
		c.Reason, c.Refusal = "", message
	}
}

// mustRead reports whether the object must be read before the decision counts.
func (p *planned) mustRead(t *prepare.Object, d decide.Decision, s decide.Situation) bool {
	if s.Live != nil {
		return false
	}
	depth := p.depthOf(t)
	switch d.Action {
	case decide.Ask:
		return true
	case decide.Refuse:
		// The cache does not show whose an object is, apart from parts of records.
		return depth >= depthAsked && !s.Proven && s.Seen.Record == ""
	case decide.Create:
		return p.asksBeforeCreation(t) && !s.Proven
	case decide.Write, decide.Recreate, decide.Mark:
		return depth == depthCompared || depth == depthAsked && d.Verb == inventory.VerbAdopted
	case decide.Verify, decide.Compare:
		return depth == depthCompared
	case decide.Keep, decide.Report:
		return depth == depthCompared && p.preview.IsLeftAlone(t, d, s)
	case decide.Await, decide.Complete, decide.Dismiss, decide.Cede:
	}
	return false
}

// asksBeforeCreation reports whether to read an object that is not in the cache: it may exist without our label. A dry
// run of its creation would show that, too.
func (p *planned) asksBeforeCreation(t *prepare.Object) bool {
	depth := p.depthOf(t)
	return depth == depthAsked || depth == depthCompared && p.preview.IsLocal(t)
}

// lookAgain reads an object. Since a plan is not repeated, it waits before that if another client has changed the
// object.
func (p *planned) lookAgain(ctx context.Context, item *inventory.Item, last decide.Situation, attempt int) (decide.Situation, error) {
	if last.Live != nil {
		select {
		case <-ctx.Done():
			return last, fmt.Errorf("looking at %s: %w", types.IDOf(item), context.Cause(ctx))
		case <-time.After(retryPause << attempt):
		}
	}
	return p.read(ctx, item)
}

// lookForEnd looks at an object once.
func (p *planned) lookForEnd(ctx context.Context, item *inventory.Item) (decide.Situation, error) {
	e := p.entries[types.IDOf(item)]
	if e.closed {
		return decide.Situation{Owner: p.call.Owner.Label}, nil
	}
	if !e.looked {
		e.seen, e.err = p.look(ctx, item)
		e.looked = true
	}
	if e.err == nil && e.seen.Live == nil && !e.seen.Proven && (p.depth == depthCompared || p.depth == depthAsked && !e.seen.Exists) {
		e.seen, e.err = p.read(ctx, item)
	}
	return e.seen, e.err
}

// retryPause is the delay before a dry run is first repeated because the object has changed; it doubles each time. A
// controller at work may write an object's status several times within a second.
const retryPause = 100 * time.Millisecond

// openInstances makes the observer watch all instances whose types are served.
func (p *planned) openInstances(ctx context.Context, members []*prepare.Object) (placed bool, err error) {
	var known []*prepare.Object
	for _, t := range members {
		served, found := p.served[t.GVK()]
		if !found {
			if served, err = p.isServed(t.GVK()); err != nil {
				return false, err
			}
			p.served[t.GVK()] = served
		}
		if served {
			known = append(known, t)
		}
	}
	return true, p.call.Watch(ctx, known, prepare.Instances)
}

// isServed reports whether the server serves a type.
func (p *planned) isServed(gvk schema.GroupVersionKind) (bool, error) {
	_, err := p.call.Server.Client.RESTMapper().RESTMapping(gvk.GroupKind(), gvk.Version)
	if cluster.IsNoMatch(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("finding type %s: %w", gvk.GroupKind(), err)
	}
	return true, nil
}

// isImpossible reports whether an object cannot exist because its namespace or its type does not.
func (p *planned) isImpossible(item *inventory.Item) (bool, error) {
	if p.preview.Namespaces[item.Namespace] {
		return true, nil
	}
	if len(p.types.Definitions(item.GroupVersionKind())) == 0 {
		return false, nil
	}
	if served, found := p.served[item.GroupVersionKind()]; found {
		return !served, nil
	}
	served, err := p.isServed(item.GroupVersionKind())
	return !served, err
}

// look returns the situation of an object. It reads the object only if the observer does not know it.
func (p *planned) look(ctx context.Context, item *inventory.Item) (decide.Situation, error) {
	absent, err := p.isImpossible(item)
	if err != nil || absent {
		return decide.Situation{Owner: p.call.Owner.Label, Proven: true}, err
	}
	if s, ok := p.call.Server.Known(item); ok {
		return s, nil
	}
	return p.read(ctx, item)
}

// read reads an object that needs a decision, and updates the observer if it has an observation: otherwise, when the
// plan is carried out, the state that the decision was made for would count as a change by another client.
func (p *planned) read(ctx context.Context, item *inventory.Item) (decide.Situation, error) {
	s, err := p.fetch(ctx, item)
	p.call.Server.Renew(item, s, err)
	return s, err
}

// fetch reads an object from the server, in any version that is served.
func (p *planned) fetch(ctx context.Context, item *inventory.Item) (decide.Situation, error) {
	s, err := p.call.Server.Ask(ctx, item)
	if err == nil && !s.Exists && !s.Typed {
		probe := *item // goes over to a version that is served
		if s, err = p.call.Server.AskServed(ctx, &probe); err == nil && s.Exists {
			return p.call.Server.Ask(ctx, &probe)
		}
	}
	return s, err
}
