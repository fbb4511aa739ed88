// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package measured

import "testing"

func TestMedian(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		reason string
		values []float64
		want   float64
	}{
		{"nothing was measured", nil, 0},
		{"one is its own middle", []float64{7}, 7},
		{"order does not matter", []float64{9, 1, 5}, 5},
		{"there are two in the middle", []float64{4, 1, 3, 100}, 3.5},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			t.Parallel()
			if got := Median(tc.values); got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

func TestPercentile(t *testing.T) {
	t.Parallel()
	hundred := make([]float64, 100)
	for i := range hundred {
		hundred[i] = float64(100 - i)
	}
	for _, tc := range []struct {
		reason string
		values []float64
		share  float64
		want   float64
	}{
		{"nothing was measured", nil, 0.99, 0},
		{"of a hundred, one may be worse", hundred, 0.99, 99},
		{"of few, none may be worse", []float64{3, 1, 2}, 0.99, 3},
		{"all", hundred, 1, 100},
		{"less than one", hundred, 0.001, 1},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			t.Parallel()
			if got := percentile(tc.values, tc.share); got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}
