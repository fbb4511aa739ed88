// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestSettlingOfTypes(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		reason      string
		changes     int
		every       time.Duration
		least, most int64
	}{
		{"one change is looked at soon, and once more", 1, 0, 2, 2},
		{"so are many in short succession", 10, 100 * time.Millisecond, 4, 4},
		{"changes without an end are looked at now and then", 1000, 500 * time.Millisecond, 80, 120},
	} {
		synctest.Test(t, func(t *testing.T) {
			var settled atomic.Int64
			changes := &typeChanges{settled: func() { settled.Add(1) }}
			for range tc.changes {
				changes.noteChange()
				time.Sleep(tc.every)
			}
			time.Sleep(time.Minute)
			if got := settled.Load(); got < tc.least || got > tc.most {
				t.Errorf("%s: expected %d to %d looks, got %d", tc.reason, tc.least, tc.most, got)
			}
		})
	}
}
