// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apitypes "k8s.io/apimachinery/pkg/types"

	parceloperator "github.com/component-operator/runtime/examples/parcel-operator"
	"github.com/component-operator/runtime/pkg/types"
)

// A wave is a set of objects of the same order, and its duration: from the first object written to the last one
// ready, or from the first one deleted to the last one gone.
type wave struct {
	order      int
	objects    int
	began      event
	ended      event
	unfinished int // objects that are not ready, or not gone, yet
}

// String names the wave and counts its objects, in columns.
func (w wave) String() string {
	noun := "objects"
	if w.objects == 1 {
		noun = "object "
	}
	return fmt.Sprintf("wave %3d  %2d %s", w.order, w.objects, noun)
}

// appliedWaves groups the first appearances of objects by apply order. The function reports whether an object is ready.
// The events must be sorted.
func appliedWaves(events []event, ready func(*unstructured.Unstructured) bool) []wave {
	return collect(events, types.AnnotationKeySuffixApplyOrder,
		func(event) bool { return true },
		func(e event) bool { return !e.deleted && ready(e.object) })
}

// deletedWaves groups the deletions of objects by delete order. The events must be sorted.
func deletedWaves(events []event) []wave {
	return collect(events, types.AnnotationKeySuffixDeleteOrder,
		func(e event) bool { return e.deleted || e.object.GetDeletionTimestamp() != nil },
		func(e event) bool { return e.deleted })
}

// collect puts the objects that have begun into waves, in ascending order.
func collect(events []event, suffix string, begins, ends func(event) bool) []wave {
	waves := map[int]*wave{}
	begun, ended := map[apitypes.UID]bool{}, map[apitypes.UID]bool{}
	for _, e := range events {
		order, uid := orderOf(e.object, suffix), e.object.GetUID()
		if !begun[uid] && begins(e) {
			begun[uid] = true
			if waves[order] == nil {
				waves[order] = &wave{order: order, began: e}
			}
			waves[order].objects++
			waves[order].unfinished++
		}
		if begun[uid] && !ended[uid] && ends(e) {
			ended[uid] = true
			waves[order].unfinished--
			waves[order].ended = e
		}
	}
	sorted := make([]wave, 0, len(waves))
	for _, w := range slices.SortedFunc(maps.Values(waves), func(a, b *wave) int { return cmp.Compare(a.order, b.order) }) {
		sorted = append(sorted, *w)
	}
	return sorted
}

// checkSequence returns an error unless each wave began after the one before had ended.
func checkSequence(waves []wave) error {
	for i, w := range waves {
		if w.unfinished > 0 {
			return fmt.Errorf("%d of %d objects of wave %d were never finished", w.unfinished, w.objects, w.order)
		}
		if i == 0 {
			continue
		}
		if before := waves[i-1]; w.began.revision <= before.ended.revision {
			return fmt.Errorf("wave %d began with %s at revision %d, before wave %d ended with %s at revision %d",
				w.order, nameOf(w.began.object), w.began.revision, before.order, nameOf(before.ended.object), before.ended.revision)
		}
	}
	return nil
}

// orderOf reads an order from the annotations of an object. The operator refuses values that are not numbers, so only a
// missing annotation yields 0.
func orderOf(object *unstructured.Unstructured, suffix string) int {
	order, err := strconv.Atoi(object.GetAnnotations()[parceloperator.Name+"/"+suffix])
	if err != nil {
		return 0
	}
	return order
}
