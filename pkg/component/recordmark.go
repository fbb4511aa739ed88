// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

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
	// cluster is the one that has them; see clusterIdentity.String.
	cluster string
}

// mark returns what is to be said about the inventory as this status records it.
func (s *Status) mark() string {
	record := s.InventoryRecord
	if !s.hasRecord() {
		return items.Mark(s.Inventory)
	}
	return strconv.Itoa(record.Items) + ":" + record.Checksum[:min(len(record.Checksum), items.MarkLength)]
}

// takeMark removes the mark from the digest and returns it.
func (s *Status) takeMark() (found mark) {
	s.ProcessingDigest, found.inventory, _ = strings.Cut(s.ProcessingDigest, items.MarkSeparator)
	found.inventory, found.cluster, _ = strings.Cut(found.inventory, items.ClusterSeparator)
	return found
}

// putMark appends a mark to the digest. The returned function undoes that.
func (s *Status) putMark(next mark) (undo func()) {
	digest := s.ProcessingDigest
	if digest != "" && next.inventory != "" {
		s.ProcessingDigest += items.MarkSeparator + next.inventory
		if next.cluster != "" {
			s.ProcessingDigest += items.ClusterSeparator + next.cluster
		}
	}
	return func() { s.ProcessingDigest = digest }
}

// nextMark is the mark that is to be written. What was recorded remains until the inventory is known again.
func (s *scope) nextMark() mark {
	if !s.record.known || s.record.lost {
		return s.record.mark
	}
	return mark{inventory: s.status.mark(), cluster: s.cluster.String()}
}
