// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestDryRunWithoutTheServer is about an object that exists already, which only the server knows.
func TestDryRunWithoutTheServer(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: "a"}}
	if err := p.client.Create(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	source := p.file("app.yaml", configMap("a", "1"))
	for mode, want := range map[string]string{"client": "(create: unless it exists already)", "server": "(adopt: exists already and has no owner)"} {
		if got := p.must("apply", "web", source, "--dry-run", mode).stdout; !strings.Contains(got, want) {
			t.Errorf("%s: want %s, got %s", mode, want, got)
		}
	}
}

func TestDryRunKeepsLimits(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.must("apply", "web", p.file("app.yaml", configMap("a", "1")+configMap("b", "1")))
	got := p.clm("apply", "web", p.file("app.yaml", configMap("a", "1")), "--dry-run=client", "--max-deletions", "0")
	p.expect(got, exitRefused, "1 of 2 dependents of release PLACE/web would be deleted; allowed by --max-deletions 0: 0")
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
	const want = "ConfigMap PLACE/a: exists already and has another owner, clm.cs.sap.com/PLACE/other, and its adoption policy is if-unowned; --adopt always adopts"
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
