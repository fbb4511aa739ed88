// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	apitypes "k8s.io/apimachinery/pkg/types"

	"github.com/component-operator/runtime/internal/concurrent"
	"github.com/component-operator/runtime/internal/manifest"
	"github.com/component-operator/runtime/internal/observe"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/decide"
	"github.com/component-operator/runtime/pkg/reconciler/internal/prepare"
	"github.com/component-operator/runtime/pkg/types"
)

// Candidate is a redundant object that exists, and would be deleted.
type Candidate struct {
	Item *inventory.Item
	// UID is that of the object; empty if it could not be read.
	UID apitypes.UID
	// Confirm means that the object may be deleted only with approval, however many others are.
	Confirm bool
}

// NeedsApproval reports whether the deletion of an item counts: it is redundant and not going to be orphaned, and its
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

// Hold returns the candidates that may be deleted only with approval, and describes them. If there are more than may be
// deleted, these are all; otherwise, they are those that demand it. Approved means that a user has approved the
// deletion of exactly these. The caller must record that before the first deletion, because the rest is another list.
func (c *Call) Hold(candidates []Candidate) (concerned []Candidate, held *inventory.HeldDeletions, approved bool, err error) {
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
		concerned = slices.DeleteFunc(slices.Clone(candidates), func(candidate Candidate) bool { return !candidate.Confirm })
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

// HoldAll returns the items of an owner that is being deleted whose deletion a user has to approve, and describes them;
// nil if there are none. The ledger has the items as they are about to be deleted or orphaned. The occasion
// distinguishes this deletion from others of the same objects.
func (c *Call) HoldAll(ctx context.Context, occasion string) (concerned []*inventory.Item, held *inventory.HeldDeletions, err error) {
	demanding := slices.DeleteFunc(slices.Clone(c.Ledger.Items), func(item *inventory.Item) bool {
		return item.DeletePolicy != inventory.DeletePolicyConfirmOnDelete || !NeedsApproval(item)
	})
	if len(demanding) == 0 {
		return nil, nil, nil
	}
	if err := c.Needs.Watch(ctx, nil, prepare.Regular); err != nil {
		return nil, nil, err
	}
	// Objects that are gone, or belong to others, need no approval.
	candidates, err := c.candidates(demanding, func(item *inventory.Item) (Candidate, bool, error) {
		s, err := c.Server.LookServed(ctx, item)
		ending, _ := c.Owner.Ending(item, s, decide.Deletion{})
		return Candidate{Item: item, UID: s.Seen.UID}, ending == decide.RequestDeletion || ending == decide.RefuseEnd, err
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
// items.
func (c *Call) candidates(items []*inventory.Item, look func(*inventory.Item) (candidate Candidate, goes bool, err error)) ([]Candidate, error) {
	var mu sync.Mutex
	var failures Failures
	var found []Candidate
	concurrent.All(c.Server.Concurrency, items, func(item *inventory.Item) {
		candidate, goes, err := look(item)
		failures.Add(err)
		mu.Lock()
		defer mu.Unlock()
		if goes {
			found = append(found, candidate)
		}
	})
	slices.SortFunc(found, func(a, b Candidate) int { return cmp.Compare(slices.Index(items, a.Item), slices.Index(items, b.Item)) })
	return found, failures.Err()
}

// identify names the held objects, and sets the digest that identifies them, and the occasion, if there is one.
func identify(held *inventory.HeldDeletions, concerned []Candidate, occasion string) error {
	sorted := slices.SortedFunc(slices.Values(concerned), func(a, b Candidate) int { return types.IDOf(a.Item).Compare(types.IDOf(b.Item)) })
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
