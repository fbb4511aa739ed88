// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package concurrent

import (
	"testing"
	"time"
	"unsafe"
)

func TestElapsed(t *testing.T) {
	t.Parallel()
	start := time.Now()
	for _, test := range []struct {
		reason   string
		from, to time.Time
		want     time.Duration
	}{
		{"both clocks agree", start, start.Add(time.Minute), time.Minute},
		{"there is no monotonic clock", start.Round(0), start.Add(time.Hour).Round(0), time.Hour},
		{"while the machine was suspended, only the clock on the wall went on", start, diverging(t, start.Add(time.Hour), -59*time.Minute), time.Hour},
		{"the clock on the wall was set back", start, diverging(t, start, time.Minute), time.Minute},
	} {
		if got := Elapsed(test.from, test.to); got != test.want {
			t.Errorf("%s: want %s, got %s", test.reason, test.want, got)
		}
	}
}

// diverging returns a time whose monotonic clock differs from that of another one, while the clock on the wall agrees.
// No function of package time makes one.
func diverging(t *testing.T, at time.Time, by time.Duration) time.Time {
	t.Helper()
	// fields are the first ones of a time; see there.
	type fields struct {
		wall      uint64
		monotonic int64
	}
	moved := at
	(*fields)(unsafe.Pointer(&moved)).monotonic += int64(by) //nolint:gosec // what comes of it is verified
	if moved.Sub(at) != by || !moved.Round(0).Equal(at.Round(0)) {
		t.Fatalf("package time has changed how it stores the monotonic clock: got %s instead of %s", moved.Sub(at), by)
	}
	return moved
}
