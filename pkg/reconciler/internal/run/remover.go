// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/runtime/schema"
	apitypes "k8s.io/apimachinery/pkg/types"

	"github.com/component-operator/runtime/internal/concurrent"
	"github.com/component-operator/runtime/internal/manifest"
	"github.com/component-operator/runtime/internal/observe"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/decide"
	"github.com/component-operator/runtime/pkg/reconciler/internal/execute"
	"github.com/component-operator/runtime/pkg/reconciler/internal/prepare"
	"github.com/component-operator/runtime/pkg/status"
	"github.com/component-operator/runtime/pkg/types"
)

// Delete deletes or orphans dependents, and reports whether all of them are gone. First it saves which of them will be
// orphaned, and which may be deleted by approval.
func (w *Waves) Delete(ctx context.Context, items []*inventory.Item) (gone bool, err error) {
	if w.call.Ledger.DecisionsUnsaved {
		if err := w.call.Ledger.Save(ctx); err != nil {
			return false, err
		}
	}
	rank := w.call.SortDeletion(items)
	for _, wave := range prepare.Group(items, func(item *inventory.Item) int { return item.DeleteOrder }) {
		for _, members := range prepare.Group(wave, rank) {
			if gone, err := w.deleteStage(ctx, prepare.Group(members, DeletionTier), len(wave)); err != nil || !gone {
				return false, err
			}
		}
		if err := w.call.Ledger.Checkpoint(ctx); err != nil {
			return false, err
		}
	}
	return true, nil
}

// deleteStage deletes tier by tier, and reports whether all objects are gone. If the deletion of an object fails or
// takes time, it still deletes the others of the stage.
func (w *Waves) deleteStage(ctx context.Context, tiers [][]*inventory.Item, waveSize int) (gone bool, err error) {
	gone = true
	var failures []error
	for _, tier := range tiers {
		remaining, err := w.deleteTier(ctx, tier)
		if err != nil {
			failures = append(failures, fmt.Errorf("deleting %s: %w", types.WaveText(tier[0].DeleteOrder), err))
			if !execute.IsAboutObjects(err) || prepare.DefinesTypes(tier[0].GroupVersionKind().GroupKind()) {
				break
			}
		}
		// Later tiers may serve the types. They are needed while there are, or may be, instances.
		needed := false
		for _, o := range remaining {
			gone = false
			needed = needed || o.keepsBarrier || o.instances != ""
			w.call.Report.Awaits(o.item, o.message)
		}
		if needed {
			break
		}
	}
	if !gone || len(failures) > 0 {
		w.call.Report.StopsAt(tiers[0][0].DeleteOrder, waveSize)
	}
	return gone && len(failures) == 0, execute.Join(failures...)
}

func (w *Waves) deleteTier(ctx context.Context, tier []*inventory.Item) ([]outcome, error) {
	var t outcomes
	work := func(item *inventory.Item) (outcome, error) {
		return w.deleteOne(ctx, item, decide.Deletion{Orphan: item.DeletePolicy == inventory.DeletePolicyOrphan, Verb: inventory.VerbDeleted, Wave: item.DeleteOrder, Why: w.Why})
	}
	concurrent.All(w.call.Server.Concurrency, tier, func(item *inventory.Item) {
		o, err := work(item)
		t.finished(w.call, item, w.call.behindBarrier(ctx, o, func() (outcome, error) { return work(item) }), err)
	})
	t.proceed(ctx, w.call)
	for _, item := range t.ready {
		w.call.Losses.Leave(item)
		w.call.Ledger.Drop(item)
	}
	return t.unready, t.Err()
}

// deleteCopy deletes the object of an item that stays recorded, for example because it is wanted again later. The
// progress of the deletion goes into a copy of the item; record is called with the item when the object is gone.
func (w *Waves) deleteCopy(ctx context.Context, item *inventory.Item, d decide.Deletion, record func(*inventory.Item)) (outcome, error) {
	going := *item
	o, err := w.deleteOne(ctx, &going, d)
	if err == nil && o.ready {
		record(item)
	}
	o.item = item
	return o, err
}

// Candidate is a redundant object that exists, and would be deleted.
type Candidate struct {
	Item *inventory.Item
	// UID is the object's UID; empty if it could not be read.
	UID apitypes.UID
	// Confirm means that the object may be deleted only with approval, even if no limit is exceeded.
	Confirm bool
}

// NeedsApproval reports whether the deletion of an item counts: it is redundant and will not be orphaned, and its
// deletion was neither requested nor approved.
func NeedsApproval(item *inventory.Item) bool {
	return item.Phase == inventory.PhaseScheduledForDeletion && item.DeletePolicy != inventory.DeletePolicyOrphan && !item.DeletionApproved
}

// DemandsApproval reports whether an item may be held although no limit is exceeded. It makes no request.
func (c *Call) DemandsApproval(item *inventory.Item) bool {
	if !NeedsApproval(item) {
		return false
	}
	seen, view := c.Server.Observer.Get(item.GroupVersionKind(), item.Namespace, item.Name)
	isUnknown := item.PrunePolicy == "" && view != observe.Present
	return isUnknown || c.Prune(item, seen) == inventory.PrunePolicyConfirm
}

// Hold returns the candidates that may be deleted only with approval, and describes them. If there are more than the
// limit allows, it returns all of them; otherwise, only those that demand approval. approved means that a user has
// approved the deletion of exactly these. The caller must record that before the first deletion, because the approval
// does not cover the list that remains afterwards.
func (c *Call) Hold(candidates []*Candidate) (concerned []*Candidate, held *inventory.HeldDeletions, approved bool, err error) {
	stay := 0
	for _, item := range c.Ledger.Items {
		if !decide.IsRedundant(item) && item.Phase != inventory.PhaseCompleted && !decide.IsDismissed(item) {
			stay++
		}
	}
	allowed, err := c.Deletions.Max.Of(stay + len(candidates))
	if err != nil {
		return nil, nil, false, err
	}
	concerned = candidates
	isWithinLimit := len(candidates) <= allowed
	if isWithinLimit {
		concerned = slices.DeleteFunc(slices.Clone(candidates), func(candidate *Candidate) bool { return !candidate.Confirm })
		allowed = 0
	}
	if len(concerned) == 0 {
		return nil, nil, false, nil
	}
	held = &inventory.HeldDeletions{Dependents: stay + len(concerned), Allowed: allowed, Confirm: isWithinLimit}
	if err := identify(held, concerned, ""); err != nil {
		return nil, nil, false, err
	}
	return concerned, held, held.Digest == c.Deletions.Approved, nil
}

// HoldAll returns the items of a deleted owner whose deletion needs a user's approval, and describes them; nil if there
// are none. The items in the ledger must already be scheduled for deletion or orphaning. The occasion distinguishes
// this deletion from others of the same objects.
func (c *Call) HoldAll(ctx context.Context, occasion string) (concerned []*inventory.Item, held *inventory.HeldDeletions, err error) {
	demanding := slices.DeleteFunc(slices.Clone(c.Ledger.Items), func(item *inventory.Item) bool {
		return item.DeletePolicy != inventory.DeletePolicyConfirmOnDelete || !NeedsApproval(item)
	})
	if len(demanding) == 0 {
		return nil, nil, nil
	}
	if err := c.Watch(ctx, nil, prepare.Regular); err != nil {
		return nil, nil, err
	}
	// Objects that are gone, or belong to others, need no approval.
	candidates, err := c.candidates(demanding, func(item *inventory.Item) (*Candidate, error) {
		s, err := c.Server.LookServed(ctx, item)
		if ending, _ := c.Owner.Ending(item, s, decide.Deletion{}); ending != decide.RequestDeletion && ending != decide.RefuseEnd {
			return nil, err
		}
		return &Candidate{Item: item, UID: s.Seen.UID}, err
	})
	if err != nil {
		return nil, nil, fmt.Errorf("finding deletions that need approval: %w", err)
	}
	if len(candidates) == 0 {
		return nil, nil, nil
	}
	for _, candidate := range candidates {
		concerned = append(concerned, candidate.Item)
	}
	held = &inventory.HeldDeletions{Dependents: len(c.Ledger.Items), OwnerDeleted: true}
	return concerned, held, identify(held, candidates, occasion)
}

// candidates looks at the objects of items concurrently, and returns those that would be deleted, in the order of the
// items. The function returns nil for the others.
func (c *Call) candidates(items []*inventory.Item, look func(*inventory.Item) (*Candidate, error)) ([]*Candidate, error) {
	var failures Failures
	found := make([]*Candidate, len(items))
	_ = concurrent.Each(c.Server.Concurrency, items, func(i int, item *inventory.Item) (err error) {
		found[i], err = look(item)
		failures.Add(err)
		return nil // look at the others, too
	})
	return slices.DeleteFunc(found, func(candidate *Candidate) bool { return candidate == nil }), failures.Err()
}

// identify names the held objects, and sets the digest that identifies them, and the occasion, if there is one.
func identify(held *inventory.HeldDeletions, concerned []*Candidate, occasion string) error {
	sorted := slices.SortedFunc(slices.Values(concerned), func(a, b *Candidate) int { return types.IDOf(a.Item).Compare(types.IDOf(b.Item)) })
	var identities []string
	for _, candidate := range sorted {
		held.Objects = append(held.Objects, candidate.Item.Info())
		identities = append(identities, string(cmp.Or(candidate.UID, candidate.Item.UID)), types.IDOf(candidate.Item).String())
	}
	if occasion != "" {
		identities = append(identities, occasion)
	}
	sum, err := manifest.Digest(identities)
	if err != nil {
		return err
	}
	held.Digest = sum[:approvalLength]
	return nil
}

// approvalLength is the length of the digest of held objects. A user types or copies it; guessing it gains nothing.
const approvalLength = 16

// SortDeletion sorts items into delete order, and returns the function that ranks them within a wave; a stage of equal
// rank begins when the one before is gone.
func (c *Call) SortDeletion(items []*inventory.Item) (rank func(*inventory.Item) int) {
	managed := prepare.NewTypeSet(c.Additional, c.Ledger.Items...)
	rank = func(item *inventory.Item) int {
		switch {
		case managed.Instance(item.GroupVersionKind()): // of a type that another item defines
			return -1
		case prepare.IsNamespace(item.GroupVersionKind().GroupKind()): // its deletion deletes what it contains
			return 1
		default:
			return 0
		}
	}
	slices.SortStableFunc(items, func(a, b *inventory.Item) int {
		return cmp.Or(cmp.Compare(a.DeleteOrder, b.DeleteOrder), cmp.Compare(rank(a), rank(b)), cmp.Compare(DeletionTier(a), DeletionTier(b)), types.IDOf(a).Compare(types.IDOf(b)))
	})
	return rank
}

// DeletionTier ranks items within a stage.
func DeletionTier(item *inventory.Item) int {
	return prepare.DeleteTier(item.GroupVersionKind().GroupKind())
}

// Consent asks the owner of a call before requests that change something. It is safe for concurrent use.
type Consent struct {
	ledger   *Ledger
	observer execute.Observer
	fence    func() error
	ask      func(ctx context.Context) error

	denial atomic.Pointer[inventory.FencedError] // why the owner did not confirm; nil if it did, or was not asked
	asking sync.Mutex                            // held while the owner is asked; guards the field below
	// confirmed are the indexes of desired objects that had vanished when the owner confirmed; nil if it was not asked.
	confirmed map[int]bool
}

// NewConsent returns the consent of an owner with the functions Fence and Confirm, each of which may be nil.
func NewConsent(ledger *Ledger, observer execute.Observer, fence func() error, confirm func(context.Context) error) *Consent {
	return &Consent{ledger: ledger, observer: observer, fence: fence, ask: confirm}
}

// Confirm asks the owner whether a desired object that was written before, and has vanished, is still wanted. It must
// be called after the object was found to have vanished, and before it is created again.
//
// Another process may work for the same owner, for a moment or by mistake, and may have deleted the object because of
// newer information: the owner is being deleted, for example, or its input has changed. That information was valid
// before the deletion. Since the owner is asked after the deletion, the answer takes the information into account,
// however outdated this call is. An object that vanishes after the question needs another question; objects that the
// observer already knew to have vanished do not.
//
// One gap remains between the question and the create: if a third party has deleted the object, and the owner stops
// wanting it only then, the other process may have found no object before this call creates it. This gap exists for
// each object that is created for the first time, too.
func (c *Consent) Confirm(ctx context.Context, t *prepare.Object) error {
	if c.ask == nil || !decide.MayExist(c.ledger.Of(t)) {
		return nil
	}
	c.asking.Lock()
	defer c.asking.Unlock()
	if !c.confirmed[t.Index] && c.MayGoOn() == nil {
		c.confirmVanished()
		if err := c.ask(ctx); err != nil {
			c.denial.Store(&inventory.FencedError{Reason: err})
		}
	}
	// The answer counts once: if the object is created and vanishes again, it has vanished after the question.
	delete(c.confirmed, t.Index)
	return c.MayGoOn()
}

// confirmVanished lets the first question of a pass count for all objects that have vanished before. The caller must
// hold c.asking.
func (c *Consent) confirmVanished() {
	if c.confirmed != nil {
		return
	}
	c.confirmed = map[int]bool{}
	for i, item := range c.ledger.Wanted {
		// Other goroutines change their items; a method with a value receiver would read all fields.
		_, view := c.observer.Get(schema.GroupVersionKind(item.TypeVersionInfo), item.Namespace, item.Name)
		c.confirmed[i] = view == observe.Absent
	}
}

// Permit returns a *inventory.FencedError if nothing may be changed any more.
func (c *Consent) Permit() error {
	if err := c.MayGoOn(); err != nil || c.fence == nil {
		return err
	}
	if err := c.fence(); err != nil {
		return &inventory.FencedError{Reason: err}
	}
	return nil
}

// Withdraw ends the call because of an error of the owner, which it returns as a *inventory.FencedError.
func (c *Consent) Withdraw(err error) error {
	c.denial.Store(&inventory.FencedError{Reason: err})
	return c.MayGoOn()
}

// MayGoOn returns a *inventory.FencedError if the owner has not confirmed, or has withdrawn.
func (c *Consent) MayGoOn() error {
	if denial := c.denial.Load(); denial != nil {
		return denial
	}
	return nil
}

// retryDeletion makes the API server go on with the deletion of a CustomResourceDefinition if it has failed to delete
// the instances, which happens while it is still opening their storage.
//
// The API server usually retries at once. But the retry may get lost: it begins with an update of the status, which is
// refused if the API server's own cache is behind. Then the API server relies on the event of the newer status, and
// ignores it, because nothing but this status has changed. It looks at all definitions again every five minutes. Any
// other change of the definition makes it go on at once.
func retryDeletion(ctx context.Context, call *Call, item *inventory.Item, s decide.Situation) error {
	if !s.Seen.DeletionFailed || s.Seen.Owner != s.Owner {
		return nil
	}
	retry, wait := call.Memory.Of(types.IDOf(item)).DeletionFailed(call.Server.Clock.Now())
	call.Report.RequeueAfter(wait)
	if !retry {
		return nil
	}
	return call.Executor.RetryDeletion(ctx, item, s)
}

// SettleKept makes the decisions about redundant objects that are possible before any of them is looked at: it plans
// the end of objects that are no longer kept, and records which objects stay, so that objects that contain these are
// not deleted before their turn.
func (c *Call) SettleKept(redundant []*inventory.Item) {
	isStaying := map[*inventory.Item]bool{}
	// The container of an object that stays may itself be in a container.
	for more := true; more; {
		more = false
		for _, item := range redundant {
			if !isStaying[item] && c.isKept(item) {
				isStaying[item], more = true, true
				c.Losses.Stay(item)
			}
		}
	}
	for _, item := range redundant {
		if item.Phase == inventory.PhaseKept && !isStaying[item] {
			c.Losses.Leave(item)
			decide.EndKeeping(item)
		}
	}
}

// isKept reports whether a redundant object stays, as far as the observer knows it.
func (c *Call) isKept(item *inventory.Item) bool {
	if item.Phase == inventory.PhaseDeleting || item.DeletePolicy == inventory.DeletePolicyOrphan {
		return false
	}
	seen, _ := c.Server.Observer.Get(item.GroupVersionKind(), item.Namespace, item.Name)
	return c.Prune(item, seen) == inventory.PrunePolicyKeep
}

// Prune deletes redundant dependents, after all desired objects are ready, and reports whether all are gone or kept. It
// does not delete dependents that need approval.
func (w *Waves) Prune(ctx context.Context) (done bool, err error) {
	gone, err := w.pruneUpTo(ctx, types.MaxOrder)
	return gone && !w.holds, err
}

// pruneUpTo deletes redundant dependents up to a delete order, and reports whether they are gone or kept, except those
// that may be deleted only with approval.
func (w *Waves) pruneUpTo(ctx context.Context, order int) (gone bool, err error) {
	if !w.begun {
		if err := w.beginPruning(ctx); err != nil {
			return false, fmt.Errorf("deleting redundant objects: %w", err)
		}
	}
	var due, later []*inventory.Item
	for _, item := range w.redundant {
		if item.DeleteOrder <= order {
			due = append(due, item)
		} else {
			later = append(later, item)
		}
	}
	w.redundant = later
	if gone, err = w.Delete(ctx, due); err != nil {
		return false, fmt.Errorf("deleting redundant objects: %w", err)
	}
	return gone, nil
}

// beginPruning decides once in a call what may be deleted. If a user has approved the deletion, it records that.
func (w *Waves) beginPruning(ctx context.Context) error {
	items := w.call.Ledger.Redundant()
	w.call.SettleKept(items)
	concerned, held, approved, err := w.call.Hold(w.candidates(ctx, items))
	switch {
	case err != nil:
		return err
	case approved:
		for _, candidate := range concerned {
			candidate.Item.DeletionApproved = true
		}
		if err := w.call.Ledger.Save(ctx); err != nil {
			return err
		}
	case held != nil:
		if w.holds, err = w.execution.hold(ctx, concerned, held); err != nil {
			return err
		}
		for _, candidate := range concerned {
			w.call.Losses.Stay(candidate.Item)
		}
		items = slices.DeleteFunc(items, func(item *inventory.Item) bool {
			return slices.ContainsFunc(concerned, func(candidate *Candidate) bool { return candidate.Item == item })
		})
	}
	w.begun, w.redundant = true, items
	return nil
}

// candidates returns the items whose objects would be deleted, in their order; without a limit, only those that demand
// approval. An object that cannot be read may be one of them.
func (w *Waves) candidates(ctx context.Context, items []*inventory.Item) []*Candidate {
	demands := NeedsApproval
	if w.call.Deletions.Max == "" {
		demands = w.call.DemandsApproval
	}
	items = slices.DeleteFunc(slices.Clone(items), func(item *inventory.Item) bool { return !demands(item) })
	candidates, _ := w.call.candidates(items, func(item *inventory.Item) (*Candidate, error) {
		s, err := w.execution.lookForEnd(ctx, item)
		if err == nil && s.Exists {
			s.WantedAs, err = w.call.wantedAs(ctx, item, s)
		}
		prune := w.call.Prune(item, s.Seen)
		ending, _ := w.call.Owner.Ending(item, s, decide.Deletion{Prune: prune})
		if err == nil && ending != decide.RequestDeletion && ending != decide.AwaitApproval {
			return nil, nil
		}
		return &Candidate{Item: item, UID: s.Seen.UID, Confirm: prune == inventory.PrunePolicyConfirm}, nil
	})
	return candidates
}

// wantedAs names the desired object that is identical to a redundant one; empty if there is none. An API server may
// serve one object in several groups, as it does with Events, and only the UID shows it.
func (c *Call) wantedAs(ctx context.Context, item *inventory.Item, s decide.Situation) (string, error) {
	for _, wanted := range c.Ledger.Wanted {
		if wanted.Kind != item.Kind || wanted.NameInfo != item.NameInfo {
			continue
		}
		other, err := c.Server.Ask(ctx, wanted)
		if err != nil {
			return "", err
		}
		if other.Exists && other.Seen.UID == s.Seen.UID {
			return fmt.Sprintf("%s of group %q", types.IDOf(wanted), wanted.Group), nil
		}
	}
	return "", nil
}

// purge deletes, at the end of a wave, applied desired objects that have served their purpose, and reports whether all
// of them are gone. A desired object has served its purpose if it is ready, also if that is not awaited, and its
// purge order is not above over, the last order before the next wave.
func (w *Waves) purge(ctx context.Context, wanted []*prepare.Object, order, over int) (done bool, err error) {
	due := slices.DeleteFunc(slices.Clone(wanted), func(t *prepare.Object) bool {
		return t.PurgeOrder == nil || t.ApplyOrder > order || *t.PurgeOrder > over || !isPurgeable(w.call.Ledger.Of(t))
	})
	unready, err := w.complete(ctx, due, order)
	if err != nil {
		return false, fmt.Errorf("purging at the end of %s: %w", types.WaveText(order), err)
	}
	for _, o := range unready {
		w.call.Report.StopsAt(order, len(due))
		w.call.Report.Awaits(o.item, "completed; "+o.message)
	}
	return len(unready) == 0, nil
}

// purgeEnded deletes objects that have ended and would be purged at the end of a wave that is not reached because other
// objects have failed. It keeps objects that these may need when they are applied again. The call does not wait until
// the objects are gone.
func (w *Waves) purgeEnded(ctx context.Context, wanted []*prepare.Object) error {
	due := slices.DeleteFunc(slices.Clone(wanted), func(t *prepare.Object) bool {
		return t.PurgeOrder == nil || !t.Ends || !isPurgeable(w.call.Ledger.Of(t))
	})
	if len(due) == 0 {
		return nil
	}
	if _, err := w.complete(ctx, due, due[0].ApplyOrder); err != nil {
		return fmt.Errorf("purging after a failure: %w", err)
	}
	return nil
}

// isPurgeable reports whether a desired object is ready, or is being purged.
func isPurgeable(item *inventory.Item) bool {
	return item.Phase == inventory.PhaseReady || decide.IsCompleting(item) && item.Phase != inventory.PhaseCompleted
}

// complete deletes desired objects that have served their purpose, and returns those that are not gone yet.
func (w *Waves) complete(ctx context.Context, due []*prepare.Object, order int) ([]outcome, error) {
	if err := w.schedule(ctx, due); err != nil {
		return nil, err
	}
	var all outcomes
	concurrent.All(w.call.Server.Concurrency, due, func(t *prepare.Object) {
		item := w.call.Ledger.Of(t)
		o, err := w.deleteOne(ctx, item, decide.Deletion{Verb: inventory.VerbCompleted, Wave: order, Why: "has served its purpose"})
		if o.ready && err == nil {
			decide.RecordCompleted(item)
		}
		all.finished(w.call, item, o, err)
	})
	return all.unready, all.Err()
}

// schedule records that desired objects have served their purpose, before the first of them is deleted: a call that
// finds one of them gone must not take that for drift and create it again.
func (w *Waves) schedule(ctx context.Context, due []*prepare.Object) error {
	changed := false
	for _, t := range due {
		if item := w.call.Ledger.Of(t); !decide.IsCompleting(item) {
			item.Phase, changed = inventory.PhaseScheduledForCompletion, true
		}
	}
	if !changed {
		return nil
	}
	return w.call.Ledger.Save(ctx)
}

// dismissFailed deletes desired objects that have failed and should be purged then. It records the failure first: a
// call that finds one of them gone must not take that for drift and create it again.
func (w *Waves) dismissFailed(ctx context.Context, tier []*prepare.Object) error {
	var due []*prepare.Object
	for _, t := range tier {
		if item := w.call.Ledger.Of(t); t.PurgeOnFailure && item.Status == status.FailedStatus && decide.IsWritten(item) {
			item.Phase = inventory.PhaseFailed
			due = append(due, t)
		}
	}
	var all outcomes
	saved(ctx, w.call, &all, due, func(t *prepare.Object) {
		item := w.call.Ledger.Of(t)
		all.finished(w.call, item, outcome{item: item}, w.dismiss(ctx, t))
	})
	return all.Err()
}

// dismiss deletes an object that has failed.
func (w *Waves) dismiss(ctx context.Context, t *prepare.Object) error {
	_, err := w.deleteCopy(ctx, w.call.Ledger.Of(t), decide.Deletion{Verb: inventory.VerbDeleted, Wave: t.ApplyOrder, Why: "has failed"}, decide.RecordFailed)
	return err
}
