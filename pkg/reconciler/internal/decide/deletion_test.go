// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"slices"
	"testing"
	"time"
)

func TestFailedDeletion(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	var f FailedDeletion
	if retry, wait := f.Next("a", now); retry || wait != time.Second {
		t.Errorf("want the first failure to be noted, got %t and %s", retry, wait)
	}
	if retry, wait := f.Next("a", now.Add(900*time.Millisecond)); retry || wait != 100*time.Millisecond {
		t.Errorf("want the rest of the interval to be waited for, got %t and %s", retry, wait)
	}
	var waits []time.Duration
	for wait := time.Second; wait > 0; {
		now = now.Add(wait)
		var retry bool
		if retry, wait = f.Next("a", now); !retry {
			t.Fatalf("want a retry after each interval, but there is none after %v", waits)
		}
		waits = append(waits, wait)
	}
	want := []time.Duration{2 * time.Second, 4 * time.Second, 8 * time.Second, 16 * time.Second, 32 * time.Second, 64 * time.Second, 128 * time.Second, 0}
	if !slices.Equal(waits, want) {
		t.Errorf("want the intervals %v, got %v", want, waits)
	}
	if retry, wait := f.Next("a", now.Add(time.Hour)); retry || wait != 0 {
		t.Errorf("want no more retries, got %t and %s", retry, wait)
	}
	if retry, wait := f.Next("b", now); retry || wait != time.Second {
		t.Errorf("want another object with this name to start afresh, got %t and %s", retry, wait)
	}
}
