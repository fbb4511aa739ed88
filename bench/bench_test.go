// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/component-operator/runtime/bench/internal/bundles"
	"github.com/component-operator/runtime/bench/internal/measured"
	"github.com/component-operator/runtime/bench/internal/progress"
	"github.com/component-operator/runtime/internal/requests"
	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/status"
)

// TestPlumbing takes a small component through its life by the means of the benchmark, and looks at the counts.
func TestPlumbing(t *testing.T) {
	t.Parallel()
	ctrl.SetLogger(logr.Discard())
	l, err := newLab(t.Context(), testenv.Config(t), testenv.UniqueName(t), progress.New(io.Discard), options{short: true, repeats: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	s, err := l.stage(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.limits(t.Context(), s.bare, 5); err != nil {
		t.Fatal(err)
	}
	methods := map[string]int{}
	for _, r := range s.bare.requests.All() {
		if r.Resource == "configmaps" && !r.IsWatch() && r.Status < http.StatusBadRequest {
			methods[r.Method]++
		}
	}
	if diff := cmp.Diff(map[string]int{"PATCH": 5, "GET": 2, "DELETE": 5}, methods); diff != "" {
		t.Errorf("requests of the bare client (-want +got):\n%s", diff)
	}
	spec := bundles.BundleSpec{Dependents: 5, Waves: 2, PayloadBytes: 10}
	bundle, _, err := s.create(t.Context(), l.name, spec)
	if err != nil {
		t.Fatal(err)
	}
	sent, err := s.operator.idle(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	var seen traffic
	seen.add(sent)
	if seen.writes[0] != 5 || seen.reads[0] != 0 || s.operator.generator.Calls.Load() != 1 {
		t.Errorf("want 5 writes, no reads and one generation, got %d of the latter and\n%s", s.operator.generator.Calls.Load(), requests.Summary(sent))
	}
	if gaps, err := gapsOf(sent, spec.Dependents, spec.Waves); err != nil || len(gaps) != 1 {
		t.Errorf("want one gap between two waves, got %v, %v", gaps, err)
	}
	if _, writes, err := s.healOne(t.Context(), bundles.DependentName(l.name, 3)); err != nil || writes != 1 {
		t.Errorf("want one write to correct a change, got %d, %v", writes, err)
	}
	if _, err := s.operator.awaitPasses(t.Context(), l, 1); err != nil {
		t.Error(err)
	}
	if _, err := s.remove(t.Context(), bundle); err != nil {
		t.Error(err)
	}
}

// TestNoopSendsNothing makes calls of Apply with the API server in memory; noopPass checks the number of requests.
func TestNoopSendsNothing(t *testing.T) {
	t.Parallel()
	for _, judge := range []status.Judge{nil, status.NewAnalyzer("another.example.io", status.Options{})} {
		if _, err := noopPass(t.Context(), 30, 2, "1", judge); err != nil {
			t.Error(err)
		}
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
		{"a bad pattern", []string{"-run", "("}, 0, "-run: error parsing regexp: missing closing ): `(`"},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			t.Parallel()
			o, err := parse(tc.args)
			got := ""
			if err != nil {
				got = err.Error()
			}
			if got != tc.err || err == nil && o.repeats != tc.repeats {
				t.Errorf("got %d repetitions and error %q, want %d and %q", o.repeats, got, tc.repeats, tc.err)
			}
		})
	}
}

func TestCasesHaveNamesOfTheirOwn(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, b := range benchmarks() {
		if seen[b.name] || b.measure == nil {
			t.Errorf("case %q: its name is not its own, or there is nothing to measure", b.name)
		}
		seen[b.name] = true
	}
}

func TestFinish(t *testing.T) {
	t.Parallel()
	r := &measured.Report{}
	r.Add("create", []measured.Figure{measured.Count("writes", 501).Exactly(500)}, nil)
	r.Add("heal", nil, errors.New("nothing"))
	for _, strict := range []bool{false, true} {
		err := finish(r, options{strict: strict, json: t.TempDir() + "/report.json"}, &strings.Builder{})
		if err == nil || strings.Contains(err.Error(), "bars were missed") != strict {
			t.Errorf("strict %v: got error %v; what was not measured always fails, what was missed only if strict", strict, err)
		}
	}
}
