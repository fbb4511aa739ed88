// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package prepare

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestGroup(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		reason string
		items  []int
		want   [][]int
	}{
		{"nothing", nil, nil},
		{"one", []int{1}, [][]int{{1}}},
		{"all alike", []int{10, 11, 12}, [][]int{{10, 11, 12}}},
		{"runs", []int{1, 2, 11, 21, 22}, [][]int{{1, 2}, {11}, {21, 22}}},
		{"runs that are not sorted stay apart", []int{1, 11, 2}, [][]int{{1}, {11}, {2}}},
	} {
		if diff := cmp.Diff(tc.want, Group(tc.items, func(i int) int { return i / 10 })); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
		}
	}
}
