// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package parallel

import (
	"sync/atomic"
	"testing"
)

func TestDo(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 2, 3, 7, 8, 9, 64, 1000, 1001} {
		counts := make([]atomic.Int32, n)
		Do(n, func(i int) { counts[i].Add(1) })
		for i := range counts {
			if got := counts[i].Load(); got != 1 {
				t.Errorf("of %d, %d was done %d times", n, i, got)
			}
		}
	}
}
