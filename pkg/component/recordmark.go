// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/component-operator/runtime/pkg/reconciler"
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

const (
	markSeparator    = ";inventory="
	clusterSeparator = ";cluster="
	// markLength is the number of hexadecimal digits of a checksum. It protects from mistakes, and not from forgery.
	markLength = 16
)

// markOf returns the mark of a list of dependents; empty for an empty list.
func markOf(items []*reconciler.InventoryItem) string {
	if len(items) == 0 {
		return ""
	}
	names := make([]string, len(items))
	for i, item := range items {
		names[i] = item.Group + "/" + item.Kind + "/" + item.Namespace + "/" + item.Name
	}
	slices.Sort(names)
	sum := sha256.Sum256([]byte(strings.Join(names, "\n")))
	return strconv.Itoa(len(items)) + ":" + hex.EncodeToString(sum[:])[:markLength]
}

// mark returns what is to be said about the inventory as this status records it.
func (s *Status) mark() string {
	record := s.InventoryRecord
	if !s.hasRecord() {
		return markOf(s.Inventory)
	}
	return strconv.Itoa(record.Items) + ":" + record.Checksum[:min(len(record.Checksum), markLength)]
}

// takeMark removes the mark from the digest and returns it.
func (s *Status) takeMark() (found mark) {
	s.ProcessingDigest, found.inventory, _ = strings.Cut(s.ProcessingDigest, markSeparator)
	found.inventory, found.cluster, _ = strings.Cut(found.inventory, clusterSeparator)
	return found
}

// putMark appends a mark to the digest. The returned function undoes that.
func (s *Status) putMark(next mark) (undo func()) {
	digest := s.ProcessingDigest
	if digest != "" && next.inventory != "" {
		s.ProcessingDigest += markSeparator + next.inventory
		if next.cluster != "" {
			s.ProcessingDigest += clusterSeparator + next.cluster
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

// mismatch says in how far a list is not the one that the mark belongs to; empty if it is, or if there is no mark.
func mismatch(recorded string, items []*reconciler.InventoryItem) string {
	if recorded == "" || recorded == markOf(items) {
		return ""
	}
	count := markedItems(recorded)
	if len(items) == 0 {
		return fmt.Sprintf("status.inventory was empty although %s had been recorded", dependents(count))
	}
	return fmt.Sprintf("status.inventory, with %s, was not the list that had been recorded, with %d", dependents(len(items)), count)
}

// markedItems is the number of dependents that the mark is about.
func markedItems(recorded string) int {
	text, _, _ := strings.Cut(recorded, ":")
	count, err := strconv.Atoi(text)
	if err != nil {
		return 0
	}
	return count
}
