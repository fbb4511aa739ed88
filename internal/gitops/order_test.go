// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"testing"

	"github.com/component-operator/runtime/pkg/types"
)

// TestApplyOrder: each wave of PreSync comes before each one of Sync, and all are valid apply orders.
func TestApplyOrder(t *testing.T) {
	t.Parallel()
	const firstOfHelm = -201
	if first, last := ApplyOrder(PreSync, -MaxWave), ApplyOrder(PreSync, MaxWave); first < types.MinOrder || last >= ApplyOrder(Sync, -MaxWave) || last >= firstOfHelm || first >= last {
		t.Errorf("PreSync has the orders %d to %d", first, last)
	}
	if got := ApplyOrder(Sync, MaxWave); got != MaxWave || got > types.MaxOrder {
		t.Errorf("the last wave has the order %d", got)
	}
	for _, phase := range []Phase{PostSync, SyncFail, PreDelete, PostDelete} {
		if got := ApplyOrder(phase, 5); got != 5 {
			t.Errorf("wave 5 of %s has the order %d", phase, got)
		}
	}
}
