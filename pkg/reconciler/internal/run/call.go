// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"

	"github.com/component-operator/runtime/internal/manifest"
	"github.com/component-operator/runtime/internal/observe"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/decide"
	"github.com/component-operator/runtime/pkg/reconciler/internal/execute"
	"github.com/component-operator/runtime/pkg/reconciler/internal/guard"
	"github.com/component-operator/runtime/pkg/reconciler/internal/prepare"
	"github.com/component-operator/runtime/pkg/types"
)

// Call is the state of one call of the engine, for one owner.
type Call struct {
	Owner    decide.Owner
	Server   *execute.Server
	Ledger   *Ledger
	Consent  *Consent
	Memory   decide.OwnerMemory
	Report   *decide.Reporter
	Executor *execute.Executor
	Losses   *guard.Losses
	Barriers *guard.Barriers
	Upgrades *guard.Upgrades
	// Deletions limits how many redundant dependents are deleted.
	Deletions inventory.Deletions
	// Policies are the owner's policies, without empty fields; the zero value if the call does not apply objects.
	Policies inventory.Policies
	// Additional are the managed types that no dependent defines.
	Additional []inventory.TypeInfo
	Tiers      Tiers
	// TakeOver are objects that are adopted from any owner.
	TakeOver map[types.ObjectID]bool
	// Siblings are other owners of the same objects, by ID; the newer of two siblings takes over from the older one.
	Siblings map[string]inventory.Relation

	expected map[types.ObjectID]*inventory.Change // the plan that the call keeps to; empty if there is none
	needs    map[schema.GroupVersionKind]*need    // what the call has the observer watch
}

// Paced adds to the situation the delays of corrections and verifications, whether the object is adopted from any
// owner, and the relation of its current owner or, if it does not exist, of its recorded holder.
func (c *Call) Paced(t *prepare.Object, item *inventory.Item, s decide.Situation) decide.Situation {
	s.TakeOver = c.TakeOver[t.Key]
	switch {
	case !s.Exists:
		s.Holder = item.Holder
	case s.Seen.Owner != s.Owner:
		for id := range c.Siblings {
			if manifest.OwnerLabel(id) == s.Seen.Owner {
				s.Holder = id
			}
		}
	}
	s.Relation = c.Siblings[s.Holder]
	if recalled := c.Memory.Peek(t.Key); recalled != nil {
		now := c.Server.Clock.Now()
		s.Correction = recalled.Corrections.Wait(now, decide.CorrectionPacing(t.ReapplyInterval))
		s.Verification = recalled.Verifications.Wait(now, decide.VerificationPacing(t.ReapplyInterval))
		s.Fight = recalled.Fight
	}
	if then := c.expected[t.Key]; then != nil && then.Verb == "" && s.Verification == 0 {
		// An object that the plan leaves alone is verified when the plan no longer applies.
		s.Verification = decide.VerificationPacing(t.ReapplyInterval).Step
	}
	return s
}

// Prune returns the effective prune policy of a redundant object. An object is kept if it contains, or defines, others
// that stay. Otherwise the recorded policy counts, then the annotation in the cluster, because an inventory may have
// lost the policy, then the owner's policy. The result is empty if the object is not redundant, or the owner is being
// deleted.
func (c *Call) Prune(item *inventory.Item, seen observe.Observation) inventory.PrunePolicy {
	if c.Policies.Prune == "" || !decide.IsRedundant(item) {
		return ""
	}
	if c.Losses.Retains(item) {
		return inventory.PrunePolicyKeep
	}
	return cmp.Or(item.PrunePolicy, prepare.PruneOf(seen.PrunePolicy), c.Policies.Prune)
}

// upgrade returns the change of a live CustomResourceDefinition.
func (c *Call) upgrade(t *prepare.Object, live *unstructured.Unstructured) (*guard.Upgrade, error) {
	manifest, err := c.Executor.Manifests.Of(t)
	if err != nil {
		return nil, err
	}
	return c.Upgrades.Of(live, manifest, t.Unchecked), nil
}

// Retry makes the caller repeat the call after a delay, because an operation on a dependent has failed and may succeed
// later.
func (c *Call) Retry(item *inventory.Item) {
	c.Report.RequeueAfter(c.Memory.Retry(types.IDOf(item), c.Server.Clock.Now()))
}

// LookAgain makes the caller repeat the call after a delay if no event will report changes of a dependent, because its
// kind cannot be watched, or because it does not have our label.
func (c *Call) LookAgain(item *inventory.Item) {
	seen, view := c.Server.Observer.Get(item.GroupVersionKind(), item.Namespace, item.Name)
	if view != observe.Present || seen.Owner != c.Owner.Label {
		c.Retry(item)
	}
}

// saveInterval is the minimum age of the last save for the end of a wave to cause another one. A save costs a write of
// the object that holds the inventory.
const saveInterval = 2 * time.Second

// Ledger is the inventory of one call while it changes. Items are changed concurrently, each by one goroutine at a
// time; the Ledger itself is changed by one goroutine.
type Ledger struct {
	// Items are all items that are, or were, recorded.
	Items []*inventory.Item
	// Wanted are the items of desired objects, by the index of the desired object.
	Wanted []*inventory.Item
	// visited, written and changed report, by the same index, whether the call has reached the object, written it, and
	// changed it by that.
	visited, written, changed []bool
	// DecisionsUnsaved means that the saved inventory does not show yet that some items will be orphaned, or that their
	// deletion is approved.
	DecisionsUnsaved bool

	store inventory.Store
	clock clock.PassiveClock
	gone  map[*inventory.Item]bool
	saved time.Time
}

// NewLedger returns a ledger of items, none of which is wanted.
func NewLedger(items []*inventory.Item, store inventory.Store, clock clock.PassiveClock) *Ledger {
	return &Ledger{Items: items, store: store, clock: clock, gone: map[*inventory.Item]bool{}, saved: clock.Now()}
}

// Want sets the items of some desired objects of the request, in the same order; count is the number of all desired
// objects.
func (l *Ledger) Want(count int, wanted []*prepare.Object, items []*inventory.Item) {
	if l.Wanted == nil {
		l.Wanted = make([]*inventory.Item, count)
		l.visited, l.written, l.changed = make([]bool, count), make([]bool, count), make([]bool, count)
	}
	for i, t := range wanted {
		l.Wanted[t.Index] = items[i]
	}
}

// Of returns the item of a desired object.
func (l *Ledger) Of(t *prepare.Object) *inventory.Item { return l.Wanted[t.Index] }

// Drop removes an item from the inventory.
func (l *Ledger) Drop(item *inventory.Item) { l.gone[item] = true }

// Redundant returns the items of redundant objects.
func (l *Ledger) Redundant() []*inventory.Item {
	return slices.DeleteFunc(slices.Clone(l.Items), func(item *inventory.Item) bool { return !decide.IsRedundant(item) })
}

// Save persists the current inventory.
func (l *Ledger) Save(ctx context.Context) error {
	if err := l.store.Save(ctx, l.Snapshot()); err != nil {
		return &execute.UnsavedError{Err: err}
	}
	l.saved, l.DecisionsUnsaved = l.clock.Now(), false
	return nil
}

// Checkpoint saves the inventory unless the last save is recent.
func (l *Ledger) Checkpoint(ctx context.Context) error {
	if l.clock.Since(l.saved) < saveInterval {
		return nil
	}
	return l.Save(ctx)
}

// Snapshot returns copies of the items that are still recorded.
func (l *Ledger) Snapshot() []*inventory.Item {
	items := l.Remaining()
	for i, item := range items {
		items[i] = new(*item)
	}
	return items
}

// Remaining returns the items that are still recorded.
func (l *Ledger) Remaining() []*inventory.Item {
	items := append([]*inventory.Item{}, l.Items...) // never nil
	return slices.DeleteFunc(items, func(item *inventory.Item) bool { return l.gone[item] })
}

// Failures collects the errors of concurrent work. The zero value has none. It is safe for concurrent use.
type Failures struct {
	mu   sync.Mutex
	errs []error
}

// Add adds an error unless it is nil.
func (f *Failures) Add(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err != nil {
		f.errs = append(f.errs, err)
	}
}

// Err joins all errors in a stable order. It is a *inventory.RefusedError only if a retry would not help; see
// execute.Join.
func (f *Failures) Err() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	var failures []error
	var stale, problems []string
	isForeign, isRejected := true, true
	for _, err := range f.errs {
		var fenced *inventory.FencedError
		var deviation *inventory.StaleError
		var refused *inventory.RefusedError
		switch {
		case errors.As(err, &fenced):
			return fenced
		case errors.As(err, &deviation):
			stale = append(stale, deviation.Changes...)
		case errors.As(err, &refused):
			problems = append(problems, refused.Problems...)
			isForeign, isRejected = isForeign && refused.Foreign, isRejected && refused.Rejected
		default:
			failures = append(failures, err)
		}
	}
	if len(stale) > 0 {
		slices.Sort(stale)
		return &inventory.StaleError{Changes: stale}
	}
	if len(problems) > 0 {
		refusals := inventory.NewRefusedError(problems...)
		refusals.Foreign, refusals.Rejected = isForeign, isRejected
		failures = append(failures, refusals)
	}
	slices.SortFunc(failures, func(a, b error) int { return cmp.Compare(a.Error(), b.Error()) })
	return execute.Join(failures...)
}
