// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"testing"
	"time"
)

func TestSpacing(t *testing.T) {
	t.Parallel()
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, tc := range []struct {
		reason string
		// after are the times between two calls, each counted from when the former one let it happen.
		after []time.Duration
		want  []time.Duration
	}{
		{reason: "the first time comes at once", after: []time.Duration{0}, want: []time.Duration{0}},
		{reason: "pauses double", after: []time.Duration{0, 0, 0, 0, 0}, want: []time.Duration{0, time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second}},
		{reason: "the time that has gone counts", after: []time.Duration{0, 0, time.Second}, want: []time.Duration{0, time.Second, time.Second}},
		{reason: "after a calm time it starts afresh", after: []time.Duration{0, 0, 5 * time.Second, 0}, want: []time.Duration{0, time.Second, 0, time.Second}},
		{
			reason: "pauses are bounded", after: make([]time.Duration, 9),
			want: []time.Duration{0, time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 16 * time.Second, 32 * time.Second, time.Minute, time.Minute},
		},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			t.Parallel()
			var s spacing
			now := begin
			for i, after := range tc.after {
				now = now.Add(after)
				got := s.next(now)
				if got != tc.want[i] {
					t.Fatalf("call %d: want %s, got %s", i, tc.want[i], got)
				}
				now = now.Add(got)
			}
		})
	}
}
