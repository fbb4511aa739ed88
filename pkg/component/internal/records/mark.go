// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package records

import (
	"strconv"
	"strings"
)

// The status records the number of dependents and a checksum of their names. So an inventory that a user has emptied or
// shortened, or that a definition without inventoryRecord has dropped, is not mistaken for a complete one. This mark
// follows the digest in status.processingDigest, a field that every definition has, and is part of the write that
// changes the inventory. Operators that do not know the mark overwrite it when they process the component, because it
// does not look like their digest. They do not count that as a new revision, which depends on
// status.lastProcessingDigest.

// mark is the text after the digest.
type mark struct {
	// inventory is the number of dependents and the checksum of their names; empty if there are none, or if the
	// inventory is not known.
	inventory string
	// cluster identifies the cluster of the dependents.
	cluster string
}

// inventoryMark returns the mark for the inventory in this status.
func (f Fields) inventoryMark() string {
	if !f.hasRecord() {
		return Mark(*f.Inventory)
	}
	record := *f.Record
	return strconv.Itoa(record.Items) + ":" + record.Checksum[:min(len(record.Checksum), MarkLength)]
}

// takeMark removes the mark from the digest and returns it.
func (f Fields) takeMark() (found mark) {
	*f.Digest, found.inventory, _ = strings.Cut(*f.Digest, MarkSeparator)
	found.inventory, found.cluster, _ = strings.Cut(found.inventory, ClusterSeparator)
	return found
}

// putMark appends a mark to the digest. The returned function undoes that.
func (f Fields) putMark(next mark) (undo func()) {
	digest := *f.Digest
	if digest != "" && next.inventory != "" {
		*f.Digest += MarkSeparator + next.inventory
		if next.cluster != "" {
			*f.Digest += ClusterSeparator + next.cluster
		}
	}
	return func() { *f.Digest = digest }
}

// nextMark returns the mark for the next write. While the inventory is not known, the recorded mark stays; an inherited
// one has none.
func (r *Record) nextMark() mark {
	if !r.known || r.lost || r.Inherited {
		return r.mark
	}
	return mark{inventory: r.fields.inventoryMark(), cluster: r.cluster}
}
