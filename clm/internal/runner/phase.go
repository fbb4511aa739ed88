// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"maps"
	"slices"
	"strings"

	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/types"
)

// AppliedPhase says what an operation that applies objects waits for, by the result of a call of the engine; empty if
// it waits for nothing.
func AppliedPhase(result reconciler.Result) string {
	if result.Done {
		return ""
	}
	if result.Aftermath.Goes() {
		return "running on-failure hooks"
	}
	coming, going := awaited(result)
	var texts []string
	if len(coming) > 0 {
		texts = append(texts, waveTexts(coming)+" ready")
	}
	if len(going) > 0 {
		texts = append(texts, "redundant objects are gone")
	}
	return waitingUntil(texts)
}

// DeletedPhase says what an operation that deletes objects waits for, by the result of a call of the engine; empty if
// it waits for nothing.
func DeletedPhase(result reconciler.Result) string {
	if _, going := awaited(result); !result.Done && len(going) > 0 {
		return waitingUntil([]string{waveTexts(going) + " gone"})
	}
	return ""
}

// waiting begins a phase in which nothing is written.
const waiting = "waiting until "

func waitingUntil(texts []string) string {
	if len(texts) == 0 {
		return ""
	}
	return waiting + strings.Join(texts, ", and ")
}

// awaited returns the waves of the objects that a call of the engine has waited for: to become ready, and to be gone;
// sorted.
func awaited(result reconciler.Result) (coming, going []int) {
	items := make(map[types.ObjectID]*reconciler.InventoryItem, len(result.Inventory))
	for _, item := range result.Inventory {
		items[types.IDOf(item)] = item
	}
	ups, downs := map[int]bool{}, map[int]bool{}
	for _, notice := range result.Waits {
		switch item := items[types.IDOf(notice.Object)]; {
		case item == nil:
		case item.Phase == reconciler.PhaseDeleting, item.Phase == reconciler.PhaseScheduledForDeletion:
			downs[item.DeleteOrder] = true
		default:
			ups[item.ApplyOrder] = true
		}
	}
	return slices.Sorted(maps.Keys(ups)), slices.Sorted(maps.Keys(downs))
}

// waveTexts names waves, with the verb.
func waveTexts(waves []int) string {
	texts := make([]string, len(waves))
	for i, wave := range waves {
		texts[i] = types.WaveText(wave)
	}
	last := len(texts) - 1
	if last == 0 {
		return texts[0] + " is"
	}
	return strings.Join(texts[:last], ", ") + " and " + texts[last] + " are"
}
