// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package records

import (
	"strconv"
	"strings"

	"github.com/component-operator/runtime/pkg/component/internal/items"
)

// The status says how many dependents it records, and has a checksum of their names, so that an inventory that somebody has
// emptied or shortened, or that a definition without inventoryRecord has dropped, is not taken for a complete one. This mark
// follows the digest in status.processingDigest, which every definition has. Operators that do not know of the mark replace it
// whenever they process the component, because it does not look like their digest; they do not count that as a new
// revision, of which status.lastProcessingDigest tells. It is part of the write that changes the inventory.

// mark is what follows the digest.
type mark struct {
	// inventory is the number of dependents and the checksum of their names; empty if there are none, or if it is not known.
	inventory string
	// cluster is the one that has them.
	cluster string
}

// inventoryMark returns what is to be said about the inventory as this status records it.
func (f Fields) inventoryMark() string {
	if !f.hasRecord() {
		return items.Mark(*f.Inventory)
	}
	record := *f.Record
	return strconv.Itoa(record.Items) + ":" + record.Checksum[:min(len(record.Checksum), items.MarkLength)]
}

// takeMark removes the mark from the digest and returns it.
func (f Fields) takeMark() (found mark) {
	*f.Digest, found.inventory, _ = strings.Cut(*f.Digest, items.MarkSeparator)
	found.inventory, found.cluster, _ = strings.Cut(found.inventory, items.ClusterSeparator)
	return found
}

// putMark appends a mark to the digest. The returned function undoes that.
func (f Fields) putMark(next mark) (undo func()) {
	digest := *f.Digest
	if digest != "" && next.inventory != "" {
		*f.Digest += items.MarkSeparator + next.inventory
		if next.cluster != "" {
			*f.Digest += items.ClusterSeparator + next.cluster
		}
	}
	return func() { *f.Digest = digest }
}

// nextMark is the mark that is to be written. What was recorded remains until the inventory is known again.
func (r *Record) nextMark() mark {
	if !r.known || r.lost {
		return r.mark
	}
	return mark{inventory: r.fields.inventoryMark(), cluster: r.cluster}
}
