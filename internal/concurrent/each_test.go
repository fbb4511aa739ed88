// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package concurrent

import (
	"sync/atomic"
	"testing"
)

// TestPanicsOfEach has the work for some items panic; that for the others is done.
func TestPanicsOfEach(t *testing.T) {
	t.Parallel()
	limiter := NewLimiter(4)
	for range 2 {
		var done atomic.Int32
		func() {
			defer func() {
				if caught := NewPanic(recover()); caught.Value != "a mistake" {
					t.Errorf("want the panic to reach the caller, got %v", caught)
				}
			}()
			EachWithin(t.Context(), limiter, make([]int, 50), func(int) {
				if done.Add(1)%5 == 0 {
					panic("a mistake")
				}
			})
		}()
		if got := done.Load(); got != 50 {
			t.Errorf("want work for all items, and free places after it, got %d", got)
		}
	}
}
