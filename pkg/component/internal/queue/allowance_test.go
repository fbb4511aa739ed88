// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"testing"
	"time"

	apitypes "k8s.io/apimachinery/pkg/types"
)

func TestAllowances(t *testing.T) {
	t.Parallel()
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	key, other := apitypes.NamespacedName{Name: "a"}, apitypes.NamespacedName{Name: "b"}
	for _, tc := range []struct {
		reason string
		passes int
		every  time.Duration
		after  time.Duration
		want   time.Duration
	}{
		{"nothing has happened", 0, 0, 0, 0},
		{"a burst is allowed", 49, 0, 0, 0},
		{"after a burst a pass waits", 50, 0, 0, time.Second},
		{"the time that has gone counts", 50, 0, 700 * time.Millisecond, 300 * time.Millisecond},
		{"one pass is allowed each second", 50, 0, time.Second, 0},
		{"what others cause is not counted for ever", 1000, 0, 0, time.Second},
		{"passes that are a second apart never wait", 1000, time.Second, 0, 0},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			t.Parallel()
			var a Allowances
			now := begin
			for range tc.passes {
				now = now.Add(tc.every)
				a.Spend(key, now)
			}
			now = now.Add(tc.after)
			if got := a.Delay(key, now); got != tc.want {
				t.Errorf("want %s, got %s", tc.want, got)
			}
			if got := a.Delay(other, now); got != 0 {
				t.Errorf("another component has to wait for %s", got)
			}
			a.Forget(key)
			if got := a.Delay(key, now); got != 0 || len(a.spent) > 0 {
				t.Errorf("what is forgotten has to wait for %s", got)
			}
		})
	}
}
