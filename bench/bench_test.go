// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/component-operator/runtime/internal/requests"
	"github.com/component-operator/runtime/internal/testenv"
)

// TestPlumbing takes a small component through its life, and looks at the counts.
func TestPlumbing(t *testing.T) {
	t.Parallel()
	ctrl.SetLogger(logr.Discard())
	l, err := newLab(t.Context(), testenv.Config(t), testenv.UniqueName(t), options{short: true, repeats: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := l.close(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	o, err := l.startMany(t.Context(), 1, BundleSpec{Dependents: 5, Waves: 2, PayloadBytes: 10})
	if err != nil {
		t.Fatal(err)
	}
	sent := o.requests.All()
	var seen traffic
	seen.add(sent)
	if seen.writes[0] != 5 || seen.reads[0] != 0 {
		t.Errorf("want 5 writes and no reads, got\n%s", requests.Summary(sent))
	}
	name := dependentName(l.name, 0)
	if _, writes, err := o.healOne(t.Context(), dependentName(name, 3)); err != nil || writes != 1 {
		t.Errorf("want one write to correct a change, got %d, %v", writes, err)
	}
	if _, err := l.limits(t.Context(), 5); err != nil {
		t.Error(err)
	}
	if _, err := l.remove(t.Context(), name); err != nil {
		t.Error(err)
	}
	if _, err := l.noopPass(t.Context(), 30, 2, nil); err != nil {
		t.Error(err)
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		reason  string
		args    []string
		repeats int
		err     string
	}{
		{"medians need some repetitions", nil, 5, ""},
		{"a short run has no time for that", []string{"-short"}, 1, ""},
		{"unless it is asked for", []string{"-short", "-n", "3"}, 3, ""},
		{"nothing cannot be measured", []string{"-n", "-1"}, 0, "-n -1: must not be negative"},
		{"a case is no argument", []string{"heal"}, 0, `unexpected argument "heal": there are flags only`},
	} {
		o, err := parse(tc.args)
		if err != nil && err.Error() != tc.err || err == nil && (tc.err != "" || o.repeats != tc.repeats) {
			t.Errorf("%s: got %d repetitions and error %v, want %d and %q", tc.reason, o.repeats, err, tc.repeats, tc.err)
		}
	}
}

func TestFigures(t *testing.T) {
	t.Parallel()
	second := []time.Duration{time.Second, time.Second, 4 * time.Second}
	for _, tc := range []struct {
		reason string
		figure figure
		want   []string
	}{
		{"a number without a bar", amount("heap", 0.12345, "KiB"), []string{"heap", "0.123 KiB", "", "", "", "", ""}},
		{
			"the median counts, in relation to that of the limit", speed("all", second, second[:1]).atMost(barRatio, 1.5),
			[]string{"all", "1000 ms", "", "1000 ms", "1", "<= 1.5 x limit: met", ""},
		},
		{"the 99th percentile counts", latency("each", second).atMost(barP99, 100), []string{"each", "1000 ms", "4000 ms", "", "", "p99 <= 100 ms: MISSED", ""}},
		{"the value counts", latency("each", second).atMost(barValue, 1000), []string{"each", "1000 ms", "4000 ms", "", "", "<= 1000 ms: met", ""}},
		{"each count has to be right", most("writes", 2, 3, 2).exactly(2), []string{"writes", "3", "", "", "", "= 2: MISSED", ""}},
		{"tiny numbers have no exponents", amount("share", 0.00001, "%"), []string{"share", "0.0000 %", "", "", "", "", ""}},
		{"there are two in the middle", speed("all", second[1:], second[:1]), []string{"all", "2500 ms", "", "1000 ms", "2.5", "", ""}},
	} {
		if diff := cmp.Diff(tc.want, tc.figure.cells()); diff != "" {
			t.Errorf("%s: cells (-want +got):\n%s", tc.reason, diff)
		}
	}
}

func TestReport(t *testing.T) {
	t.Parallel()
	r := &report{}
	r.add("create", []figure{most("writes", 501).exactly(500)}, nil)
	for _, strict := range []bool{false, true} {
		var out strings.Builder
		if err := r.print(t.Context(), &out, options{strict: strict, repeats: 5}); (err != nil) != strict {
			t.Errorf("strict %v: got error %v; a missed bar fails only if strict", strict, err)
		}
		_, table, _ := strings.Cut(out.String(), "medians of 5\n\n")
		want := `| case   | figure | value | p99 | limit | x limit | bar           | note |
| create | writes | 501   |     |       |         | = 500: MISSED |      |

1 figures, 1 bars missed, 0 cases not measured
`
		if diff := cmp.Diff(want, table); diff != "" {
			t.Errorf("table (-want +got):\n%s", diff)
		}
	}
	r.add("heal", nil, errors.New("nothing"))
	if err := r.print(t.Context(), io.Discard, options{}); err == nil {
		t.Error("a missing measurement must fail")
	}
}
