// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package measured

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestFigures(t *testing.T) {
	t.Parallel()
	second := []time.Duration{time.Second, time.Second, 4 * time.Second}
	for _, tc := range []struct {
		reason string
		figure Figure
		want   []string
		missed bool
	}{
		{"a number without a bar", Amount("heap", 0.12345, "KiB"), []string{"", "heap", "0.123 KiB", "", "", "", "", ""}, false},
		{
			"the median counts, in relation to that of the limit", Speed("all", second, second[:1]).AtMost(BarRatio, 1.5),
			[]string{"", "all", "1000 ms", "", "1000 ms", "1", "<= 1.5 x limit: met", ""},
			false,
		},
		{"the 99th percentile counts", Latency("each", second).AtMost(BarP99, 100), []string{"", "each", "1000 ms", "4000 ms", "", "", "p99 <= 100 ms: MISSED", ""}, true},
		{"the value counts", Latency("each", second).AtMost(BarValue, 1000), []string{"", "each", "1000 ms", "4000 ms", "", "", "<= 1000 ms: met", ""}, false},
		{"each count has to be right", Most("writes", []int{2, 3, 2}).Exactly(2), []string{"", "writes", "3", "", "", "", "= 2: MISSED", ""}, true},
		{"tiny numbers are no exponents", Amount("share", 0.00001, "%").Noted("about %d", 0), []string{"", "share", "0.0000 %", "", "", "", "", "about 0"}, false},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tc.want, tc.figure.cells()); diff != "" {
				t.Errorf("cells (-want +got):\n%s", diff)
			}
			if got := tc.figure.missed(); got != tc.missed {
				t.Errorf("missed: got %v, want %v", got, tc.missed)
			}
		})
	}
}

func TestReport(t *testing.T) {
	t.Parallel()
	r := &Report{Date: time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC), Commit: "abc", Go: "go1", Kubernetes: "v1", Cores: 2, Repeats: 5}
	r.Add("create", []Figure{Count("writes", 501).Exactly(500)}, nil)
	r.Add("heal", nil, errNothing)
	var out strings.Builder
	r.Print(&out)
	want := `2030-01-02T03:04:05Z, commit abc, go1, Kubernetes v1, 2 cores, medians of 5

| case   | figure | value | p99 | limit | x limit | bar           | note |
| ------ | ------ | ----- | --- | ----- | ------- | ------------- | ---- |
| create | writes | 501   |     |       |         | = 500: MISSED |      |

heal: NOT MEASURED: nothing

1 figures, 1 bars missed, 1 cases not measured
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
}

var errNothing = errors.New("nothing")
