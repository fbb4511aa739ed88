// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package releases

import (
	apitypes "k8s.io/apimachinery/pkg/types"
)

// Recorded reports whether there was a record of ours when the release was read or written last.
func (r *Release) Recorded() bool { return r.stored.uid != "" }

// SameRecord reports whether both were read from, or written to, the record in the same state.
func (r *Release) SameRecord(other *Release) bool {
	return r.stored.uid == other.stored.uid && r.stored.resourceVersion == other.stored.resourceVersion
}

// Items is the number of dependents, also of a release that was read without its inventory.
func (r *Release) Items() int {
	if !r.stored.incomplete {
		return len(r.Inventory)
	}
	if r.stored.index.Inventory == nil {
		return 0
	}
	return r.stored.index.Inventory.Items
}

// UID returns the UID of the record; it is empty if there is none.
func (r *Release) UID() apitypes.UID { return apitypes.UID(r.stored.uid) }

// RecordedState returns the state in the record, which may differ from that of a release that was changed since it was
// read; empty if there is no record.
func (r *Release) RecordedState() State { return r.stored.index.State }
