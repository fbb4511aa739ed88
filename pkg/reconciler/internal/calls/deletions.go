// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package calls

import (
	"cmp"
	"slices"

	apitypes "k8s.io/apimachinery/pkg/types"

	"github.com/component-operator/runtime/internal/digest"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/bookkeeping"
	"github.com/component-operator/runtime/pkg/types"
)

// Candidate is a redundant object that exists, and would be deleted.
type Candidate struct {
	Item *inventory.Item
	// UID is that of the object; empty if it could not be read.
	UID apitypes.UID
}

// NeedsApproval reports whether the deletion of an item counts: it is redundant and not going to be orphaned, and its deletion was neither requested
// nor approved.
func NeedsApproval(item *inventory.Item) bool {
	return item.Phase == inventory.PhaseScheduledForDeletion && item.DeletePolicy != inventory.DeletePolicyOrphan && !item.DeletionApproved
}

// Hold returns the candidates if there are more of them than may be deleted; nil if there are not. Approved means that there are, and that exactly
// these may be deleted nevertheless. The caller must record the approval before the first deletion, because the rest is another list.
func (c *Call) Hold(candidates []Candidate) (held *inventory.HeldDeletions, approved bool, err error) {
	stay := 0
	for _, item := range c.Ledger.Items {
		if !bookkeeping.IsUnwanted(item) && item.Phase != inventory.PhaseCompleted && !bookkeeping.IsDismissed(item) {
			stay++
		}
	}
	dependents := stay + len(candidates)
	allowed, err := c.Deletions.Max.Of(dependents)
	if err != nil || len(candidates) <= allowed {
		return nil, false, err
	}
	sorted := slices.SortedFunc(slices.Values(candidates), func(a, b Candidate) int { return types.IDOf(a.Item).Compare(types.IDOf(b.Item)) })
	held = &inventory.HeldDeletions{Dependents: dependents, Allowed: allowed}
	var identities []string
	for _, candidate := range sorted {
		held.Objects = append(held.Objects, candidate.Item.Info())
		identities = append(identities, string(cmp.Or(candidate.UID, candidate.Item.UID)), types.IDOf(candidate.Item).String())
	}
	sum, err := digest.Of(identities)
	if err != nil {
		return nil, false, err
	}
	held.Digest = sum[:approvalLength]
	if held.Digest == c.Deletions.Approved {
		return nil, true, nil
	}
	return held, false, nil
}

// approvalLength is the length of the digest of held objects. A user types or copies it; nobody gains by guessing it.
const approvalLength = 16
