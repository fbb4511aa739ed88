// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/component-operator/runtime/pkg/reconciler/internal/decide"
)

func TestDecideBarrier(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	ago := func(seconds float64) time.Time { return now.Add(-time.Duration(seconds * float64(time.Second))) }
	for _, test := range []struct {
		reason   string
		state    decide.Barrier
		enforced bool
		want     decide.Barrier
		step     step
	}{
		{"nothing is known about it", decide.Barrier{}, false, decide.Barrier{Raised: now}, step{raise: true, wait: time.Second}},
		{
			"it takes some time until it is enforced",
			decide.Barrier{Raised: ago(2)},
			false,
			decide.Barrier{Raised: ago(2)},
			step{wait: time.Second},
		},
		{
			"other API servers may learn of it later",
			decide.Barrier{Raised: ago(1)},
			true,
			decide.Barrier{Raised: ago(1), Enforced: now},
			step{wait: 3 * time.Second},
		},
		{
			"they still may",
			decide.Barrier{Raised: ago(3), Enforced: ago(2)},
			true,
			decide.Barrier{Raised: ago(3), Enforced: ago(2)},
			step{wait: time.Second},
		},
		{
			"they have had time enough",
			decide.Barrier{Raised: ago(4), Enforced: ago(3)},
			true,
			decide.Barrier{Raised: ago(4), Enforced: ago(3)},
			step{inForce: true},
		},
		{
			"an interruption lets instances through",
			decide.Barrier{Raised: ago(4), Enforced: ago(3)},
			false,
			decide.Barrier{Raised: ago(4)},
			step{wait: time.Second},
		},
		{
			"others have removed it",
			decide.Barrier{Raised: ago(10), Enforced: ago(5)},
			false,
			decide.Barrier{Raised: now},
			step{raise: true, wait: time.Second},
		},
	} {
		got, step := nextStep(test.state, test.enforced, now, 3*time.Second)
		if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(decide.Barrier{})); diff != "" {
			t.Errorf("%s: state (-want +got):\n%s", test.reason, diff)
		}
		if step != test.step {
			t.Errorf("%s: expected %+v, got %+v", test.reason, test.step, step)
		}
	}
}
