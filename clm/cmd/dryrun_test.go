// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
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
	p.expect(got, exitRefused, "1 of 2 dependents of release PLACE/web would be deleted; allowed are 0 by --max-deletions 0")
	if !strings.Contains(got.stdout, "1 to delete") {
		t.Errorf("want the plan to be shown nevertheless, got %s", got.stdout)
	}
}
