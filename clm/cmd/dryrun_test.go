// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestDryRunWithoutTheServer is about an object that already exists, which only the server knows.
func TestDryRunWithoutTheServer(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: "a"}}
	if err := p.client.Create(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	source := p.file("app.yaml", configMap("a", "1"))
	for mode, want := range map[string]string{"client": "(create: unless it already exists)", "server": "(adopt: already exists and has no owner)"} {
		if got := p.must("apply", "web", source, "--dry-run="+mode).stdout; !strings.Contains(got, want) {
			t.Errorf("%s: want %s, got %s", mode, want, got)
		}
	}
}

// TestDryRuns gives the flag to commands with and without a value.
func TestDryRuns(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	source := p.file("app.yaml", configMap("a", "1"))
	commands := [][]string{{"apply", "web", source}, {"rollback", "web", "1"}, {"orphan", "web", "cm/a"}, {"delete", "web"}}
	for i, args := range commands {
		for _, flag := range []string{"--dry-run", "--dry-run=client", "--dry-run=server"} {
			before := p.versions()
			if got := p.must(append(args, flag)...); got.stdout == "" {
				t.Errorf("clm %s %s: want to be told what would be done", args[0], flag)
			}
			if diff := cmp.Diff(before, p.versions()); diff != "" {
				t.Errorf("clm %s %s: something was done (-before +after):\n%s", args[0], flag, diff)
			}
		}
		p.expect(p.clm(append(args, "--dry-run", "server")...), 1, "the value of --dry-run needs an equals sign: --dry-run=server")
		if i == 0 {
			p.must(append(args, "--dry-run=none")...)
			p.must("apply", "web", p.file("app.yaml", configMap("a", "2")))
		}
	}
	// That is the name of the release.
	p.must("apply", "server", p.file("other.yaml", configMap("other", "1")), "--dry-run")
	p.must("delete", "web", "--dry-run=none")
}

func TestDryRunKeepsLimits(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.must("apply", "web", p.file("app.yaml", configMap("a", "1")+configMap("b", "1")))
	got := p.clm("apply", "web", p.file("app.yaml", configMap("a", "1")), "--dry-run=client", "--max-deletions", "0")
	p.expect(got, exitRefused, "1 of 2 dependents of release PLACE/web would be deleted, but --max-deletions 0 allows only 0")
	if !strings.Contains(got.stdout, "1 to delete") {
		t.Errorf("want the plan to be shown nevertheless, got %s", got.stdout)
	}
}

// TestPlanOfWhatOthersHave is not to be carried out, even in part.
func TestPlanOfWhatOthersHave(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.must("apply", "other", p.file("other.yaml", configMap("a", "1")))
	source := p.file("app.yaml", configMap("a", "1")+configMap("b", "1"))
	saved := filepath.Join(t.TempDir(), "web.plan")
	const want = "ConfigMap PLACE/a: already exists and belongs to release PLACE/other, but its adoption policy is if-unowned; '--adopt always' adopts"
	for _, args := range [][]string{
		{"plan", "web", source, "--out", saved},
		{"diff", "web", source},
		{"apply", "web", source, "--dry-run=server"},
		{"apply", "web", source, "--diff", "-y"},
	} {
		p.expect(p.clm(args...), exitRefused, want)
	}
	if _, err := os.Stat(saved); !os.IsNotExist(err) {
		t.Errorf("want no plan to be saved, got %v", err)
	}
	if p.configMap("b") != nil || p.clm("status", "web").code == 0 {
		t.Error("want nothing to be begun")
	}
}
