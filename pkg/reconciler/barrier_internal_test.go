// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestDecideBarrier(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	ago := func(seconds float64) time.Time { return now.Add(-time.Duration(seconds * float64(time.Second))) }
	for _, test := range []struct {
		reason   string
		state    barrierState
		enforced bool
		want     barrierState
		step     barrierStep
	}{
		{"nothing is known about it", barrierState{}, false, barrierState{raised: now}, barrierStep{raise: true, wait: time.Second}},
		{
			"it takes some time until it is enforced",
			barrierState{raised: ago(2)},
			false,
			barrierState{raised: ago(2)},
			barrierStep{wait: time.Second},
		},
		{
			"other API servers may learn of it later",
			barrierState{raised: ago(1)},
			true,
			barrierState{raised: ago(1), enforced: now},
			barrierStep{wait: 3 * time.Second},
		},
		{
			"they still may",
			barrierState{raised: ago(3), enforced: ago(2)},
			true,
			barrierState{raised: ago(3), enforced: ago(2)},
			barrierStep{wait: time.Second},
		},
		{
			"they have had time enough",
			barrierState{raised: ago(4), enforced: ago(3)},
			true,
			barrierState{raised: ago(4), enforced: ago(3)},
			barrierStep{stands: true},
		},
		{
			"an interruption lets instances through",
			barrierState{raised: ago(4), enforced: ago(3)},
			false,
			barrierState{raised: ago(4)},
			barrierStep{wait: time.Second},
		},
		{
			"somebody has removed it",
			barrierState{raised: ago(10), enforced: ago(5)},
			false,
			barrierState{raised: now},
			barrierStep{raise: true, wait: time.Second},
		},
	} {
		got, step := decideBarrier(test.state, test.enforced, now, 3*time.Second)
		if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(barrierState{})); diff != "" {
			t.Errorf("%s: state (-want +got):\n%s", test.reason, diff)
		}
		if step != test.step {
			t.Errorf("%s: expected %+v, got %+v", test.reason, test.step, step)
		}
	}
}
