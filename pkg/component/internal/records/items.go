// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package records

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/component-operator/runtime/pkg/component/internal/outcomes"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/types"
)

// Kinds returns the types of all items, sorted.
func Kinds(inventory []*reconciler.InventoryItem) []reconciler.TypeVersionInfo {
	found := map[reconciler.TypeVersionInfo]bool{}
	for _, item := range inventory {
		found[item.TypeVersionInfo] = true
	}
	return slices.SortedFunc(maps.Keys(found), func(a, b reconciler.TypeVersionInfo) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Version, b.Version))
	})
}

// Same reports whether two inventories are equal, in any order.
func Same(a, b []*reconciler.InventoryItem) bool {
	if len(a) != len(b) {
		return false
	}
	var byKey map[types.ObjectID]*reconciler.InventoryItem
	for i, item := range b {
		other := a[i]
		if byKey == nil && types.IDOf(item) != types.IDOf(other) {
			byKey = Index(a)
		}
		if byKey != nil {
			other = byKey[types.IDOf(item)]
		}
		if other == nil || !SameItem(other, item) {
			return false
		}
	}
	return true
}

// Index returns items by object.
func Index(items []*reconciler.InventoryItem) map[types.ObjectID]*reconciler.InventoryItem {
	byKey := make(map[types.ObjectID]*reconciler.InventoryItem, len(items))
	for _, item := range items {
		byKey[types.IDOf(item)] = item
	}
	return byKey
}

// SameItem compares all fields of two items; times in recorded precision.
func SameItem(a, b *reconciler.InventoryItem) bool {
	one, other := *a, *b
	one.LastAppliedAt, other.LastAppliedAt = nil, nil
	return sameTime(a.LastAppliedAt, b.LastAppliedAt) && equality.Semantic.DeepEqual(one, other)
}

func sameTime(a, b *metav1.Time) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Unix() == b.Unix()
}

// HasGrown reports whether there are items that the earlier inventory lacks.
func HasGrown(before, now []*reconciler.InventoryItem) bool {
	byKey := Index(before)
	return slices.ContainsFunc(now, func(item *reconciler.InventoryItem) bool { return byKey[types.IDOf(item)] == nil })
}

// Union returns the items of both lists. For items in both, it returns that of the second list.
func Union(first, second []*reconciler.InventoryItem) []*reconciler.InventoryItem {
	if len(first) == 0 {
		return second
	}
	if len(second) == 0 {
		return first
	}
	newer := Index(second)
	kept := slices.DeleteFunc(slices.Clone(first), func(item *reconciler.InventoryItem) bool { return newer[types.IDOf(item)] != nil })
	return append(kept, second...)
}

const (
	MarkSeparator    = ";inventory="
	ClusterSeparator = ";cluster="
	// MarkLength is the number of hexadecimal digits of a checksum. It protects against mistakes, not against forgery.
	MarkLength = 16
)

// Mark returns the mark of a list of dependents; empty for an empty list.
func Mark(items []*reconciler.InventoryItem) string {
	if len(items) == 0 {
		return ""
	}
	names := make([]string, len(items))
	for i, item := range items {
		names[i] = item.Group + "/" + item.Kind + "/" + item.Namespace + "/" + item.Name
	}
	slices.Sort(names)
	sum := sha256.Sum256([]byte(strings.Join(names, "\n")))
	return strconv.Itoa(len(items)) + ":" + hex.EncodeToString(sum[:])[:MarkLength]
}

// Mismatch says how a list differs from the one with the recorded mark; empty if it does not, or if there is no mark.
func Mismatch(recorded string, items []*reconciler.InventoryItem) string {
	if recorded == "" || recorded == Mark(items) {
		return ""
	}
	count := Marked(recorded)
	if len(items) == 0 {
		return fmt.Sprintf("status.inventory was empty although %s had been recorded", outcomes.Dependents(count))
	}
	return fmt.Sprintf("status.inventory, with %s, was not the list that had been recorded, with %d", outcomes.Dependents(len(items)), count)
}

// Marked returns the number of dependents in a mark.
func Marked(recorded string) int {
	text, _, _ := strings.Cut(recorded, ":")
	count, err := strconv.Atoi(text)
	if err != nil {
		return 0
	}
	return count
}
