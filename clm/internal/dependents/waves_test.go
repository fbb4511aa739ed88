// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package dependents_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/component-operator/runtime/clm/internal/dependents"
	"github.com/component-operator/runtime/clm/internal/terminal"
	"github.com/component-operator/runtime/pkg/types"
)

func TestWaves(t *testing.T) {
	t.Parallel()
	var nodes []*dependents.Node
	for _, d := range []dependents.Dependent{
		{Wave: 3, State: dependents.StatePending},
		{Wave: 2, State: dependents.StateFailed},
		{Wave: 0, State: dependents.StateReady},
		{Wave: 1, State: dependents.StateStays},
		{Wave: 4, State: dependents.StatePending},
		{Wave: 2, State: dependents.StateReady},
		{Wave: 2, State: dependents.StateUnready},
		{Wave: 0, State: dependents.StateCompleted},
		{Wave: 1, State: dependents.StateGone},
		{Wave: types.PostApplyOrder, State: dependents.StatePending},
		{Wave: types.PostApplyOrder + 1, State: dependents.StatePending},
		{Wave: types.OnFailureOrder, State: dependents.StatePending},
	} {
		nodes = append(nodes, &dependents.Node{Dependent: d})
	}
	dependents.Sort(nodes)
	var detailed, merged []string
	for _, wave := range dependents.Waves(nodes) {
		detailed = append(detailed, wave.Label()+": "+wave.Describe(terminal.Style(false)))
	}
	for _, wave := range dependents.Merge(dependents.Waves(nodes)) {
		merged = append(merged, wave.Label()+": "+wave.Summarize(terminal.Style(false)))
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

func TestTexts(t *testing.T) {
	t.Parallel()
	got := []string{
		dependents.Enumerate(nil, 2), dependents.Enumerate([]string{"a", "b"}, 2), dependents.Enumerate([]string{"a", "b", "c", "d"}, 2),
		dependents.Count(1, "object"), dependents.Count(2, "object"),
	}
	if diff := cmp.Diff([]string{"", "a, b", "a, b, and 2 more", "1 object", "2 objects"}, got); diff != "" {
		t.Error(diff)
	}
}
