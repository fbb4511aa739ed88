// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"fmt"
	"strconv"
	"strings"
)

// MaxDeletions is how many redundant dependents may be deleted without approval: a number ("5"), a percentage of the
// dependents ("25%", rounded down), or MaxDeletionsAllButOne. Empty means any number.
type MaxDeletions string

// MaxDeletionsAllButOne means that the last dependents are not deleted without approval: something must be left.
const MaxDeletionsAllButOne MaxDeletions = "AllButOne"

// Of returns how many of the dependents may be deleted. It returns an error if the value is none of those that
// MaxDeletions names.
func (m MaxDeletions) Of(dependents int) (allowed int, err error) {
	switch m {
	case "":
		return dependents, nil
	case MaxDeletionsAllButOne:
		return max(dependents-1, 0), nil
	}
	number, percent := strings.CutSuffix(string(m), "%")
	count, err := strconv.ParseUint(number, 10, 31)
	switch {
	case err != nil, percent && count > 100:
		return 0, fmt.Errorf("invalid value %q; must be a number of at least 0, a percentage from 0%% to 100%%, or %s", string(m), MaxDeletionsAllButOne)
	case percent:
		return dependents * int(count) / 100, nil
	default:
		return int(count), nil
	}
}

// Validate returns the error of Of.
func (m MaxDeletions) Validate() error {
	_, err := m.Of(0)
	return err
}

// Deletions limits how many redundant dependents are deleted. It does not concern the deletion of the owner, dependents
// that are orphaned, or those that have served their purpose. The zero value is no limit; dependents with
// PrunePolicyConfirm are held all the same.
type Deletions struct {
	// Max is the limit. It is compared with the redundant dependents whose deletion was neither requested nor approved
	// yet. A percentage refers to these and to the dependents that stay. Defaults to no limit.
	Max MaxDeletions
	// Approved is the digest of held dependents that may be deleted; see HeldDeletions. Defaults to none.
	Approved string
}

// HeldDeletions are dependents that are not deleted without approval: redundant ones, because there are more of them
// than allowed, or because of PrunePolicyConfirm, or those with DeletePolicyConfirmOnDelete, whose owner is being
// deleted.
type HeldDeletions struct {
	// Objects are the held dependents, sorted.
	Objects []ObjectInfo `json:"objects"`
	// Dependents counts the held ones and those that stay.
	Dependents int `json:"dependents"`
	// Allowed is how many may be deleted.
	Allowed int `json:"allowed"`
	// Confirm means that no limit is exceeded: the objects are those with PrunePolicyConfirm.
	Confirm bool `json:"confirm,omitempty"`
	// OwnerDeleted means that the owner is being deleted: the objects are those with DeletePolicyConfirmOnDelete.
	OwnerDeleted bool `json:"ownerDeleted,omitempty"`
	// Digest identifies exactly these objects, by their UIDs. To approve their deletion, pass it as Deletions.Approved,
	// or DeleteRequest.Approved.
	Digest string `json:"digest"`
}

// String says how many dependents are held, and why.
func (h *HeldDeletions) String() string {
	switch {
	case h.OwnerDeleted:
		return fmt.Sprintf("%d of %d dependents may be deleted only with approval", len(h.Objects), h.Dependents)
	case h.Confirm:
		return fmt.Sprintf("%d of %d dependents would be deleted, which needs approval because of the prune policy", len(h.Objects), h.Dependents)
	default:
		return fmt.Sprintf("%d of %d dependents would be deleted, but only %d may be", len(h.Objects), h.Dependents, h.Allowed)
	}
}
