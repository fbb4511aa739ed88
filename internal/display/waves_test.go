// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package display_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/component-operator/runtime/internal/display"
	"github.com/component-operator/runtime/pkg/types"
)

func TestWaves(t *testing.T) {
	t.Parallel()
	var nodes []*display.Node
	for _, d := range []display.Dependent{
		{Wave: 3, State: display.StatePending},
		{Wave: 2, State: display.StateFailed},
		{Wave: 0, State: display.StateReady},
		{Wave: 1, State: display.StateStays},
		{Wave: 4, State: display.StatePending},
		{Wave: 2, State: display.StateReady},
		{Wave: 2, State: display.StateUnready},
		{Wave: 0, State: display.StateCompleted},
		{Wave: 1, State: display.StateGone},
		{Wave: types.PostApplyOrder, State: display.StatePending},
		{Wave: types.PostApplyOrder + 1, State: display.StatePending},
		{Wave: types.OnFailureOrder, State: display.StatePending},
	} {
		nodes = append(nodes, &display.Node{Dependent: d})
	}
	display.Sort(nodes)
	var detailed, merged []string
	for _, wave := range display.Waves(nodes) {
		detailed = append(detailed, wave.Label()+": "+wave.Describe(display.Style(false)))
	}
	for _, wave := range display.Merge(display.Waves(nodes)) {
		merged = append(merged, wave.Label()+": "+wave.Summarize(display.Style(false)))
	}
	if diff := cmp.Diff([]string{
		"wave 0: ✓ 1 ready  ✓ 1 completed", "wave 1: ✓ 1 gone  = 1 kept", "wave 2: ✓ 1 ready  ▸ 1 not ready  ✗ 1 failed",
		"wave 3: · 1 pending", "wave 4: · 1 pending", "post-apply wave 0: · 1 pending", "post-apply wave 1: · 1 pending", "on-failure wave 0: · 1 pending",
	}, detailed); diff != "" {
		t.Errorf("status tells all states and waves apart (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{
		"waves 0 to 1: ✓ 4 done", "wave 2: ✓ 1 done  ▸ 1 in progress  ✗ 1 failed", "waves 3 to 4: · 2 pending",
		"post-apply waves 0 to 1: · 2 pending", "on-failure wave 0: · 1 pending",
	}, merged); diff != "" {
		t.Errorf("an operation shows the waves in motion (-want +got):\n%s", diff)
	}
}
