// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestRefusalsOfTheServer plans objects that the API server refuses.
func TestRefusalsOfTheServer(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	source := p.file("app.yaml", configMap("good", "1")+"\n---\n{apiVersion: v1, kind: Service, metadata: {name: bad}, spec: {ports: [{port: 99999}]}}\n")
	for _, args := range [][]string{{"plan", "web", source}, {"apply", "web", source, "--dry-run=server"}} {
		got := p.expect(p.clm(args...), exitRefused)
		if got.stderr != "Error: the API server rejects 1 of the objects, as shown above\n" || !strings.Contains(got.stdout, "! Service "+p.namespace+"/bad") {
			t.Errorf("clm %s: got %s%s", args[0], got.stdout, got.stderr)
		}
	}
	// It is saved nevertheless: the server may accept the object later.
	saved := filepath.Join(t.TempDir(), "web.plan")
	p.expect(p.clm("plan", "web", source, "--out", saved), exitRefused, "The plan is saved.")
	p.expect(p.clm("apply", "web", "--plan", saved), 1, "rejected by the API server")
	p.must("delete", "web")
	command, screen := p.startOnTerminal(t, nil, "apply", "web", source)
	screen.resize(t, 250, 40)
	screen.expect(t, inContext(t, "Create release "+p.namespace+"/web, although the API server rejects 1 of its objects?")+" [y/N] ")
	screen.enter(t, "n\n")
	expectExit(t, command, screen, exitRefused)
}

// TestPlannedDeletionsAreLimited plans to delete more objects than clm apply would.
func TestPlannedDeletionsAreLimited(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.must("apply", "web", p.file("first.yaml", configMap("a", "1")+configMap("b", "1")))
	other := p.file("second.yaml", configMap("c", "1"))
	planned, applied := p.expect(p.clm("plan", "web", other), exitRefused), p.expect(p.clm("apply", "web", other), exitRefused)
	if planned.stderr != applied.stderr || !strings.Contains(planned.stderr, "--max-deletions 100%") {
		t.Errorf("want the same refusal, got %q and %q", planned.stderr, applied.stderr)
	}
	p.must("plan", "web", other, "--max-deletions", "100%")
	p.must("delete", "web")
}

// TestDeletionWarnsOfNamespaces shows before the question that a namespace will stay, because others have objects in
// it.
func TestDeletionWarnsOfNamespaces(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	inner := p.namespace + "-inner"
	p.must("apply", "web", p.file("app.yaml", "{apiVersion: v1, kind: Namespace, metadata: {name: PLACE-inner}}\n"))
	if got := p.must("delete", "web", "--dry-run").stdout; strings.Contains(got, "will be kept") {
		t.Errorf("want no warning, got %s", got)
	}
	theirs := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: inner, Name: "theirs"}}
	if err := p.client.Create(t.Context(), theirs); err != nil {
		t.Fatal(err)
	}
	warning := "Of these, the following namespaces will be kept until nothing else is left in them:\n  Namespace " + inner + ": "
	got := p.must("delete", "web", "--dry-run").stdout
	if !strings.Contains(got, warning) || !strings.Contains(got, "ConfigMap "+inner+"/theirs") {
		t.Errorf("want a warning, got %s", got)
	}
	command, screen := p.startOnTerminal(t, nil, "delete", "web")
	screen.resize(t, 250, 40)
	screen.expect(t, "ConfigMap "+inner+"/theirs")
	screen.expect(t, "[y/N] ")
	screen.enter(t, "n\n")
	expectExit(t, command, screen, exitRefused)
	if err := p.client.Delete(t.Context(), theirs); err != nil {
		t.Fatal(err)
	}
	p.must("delete", "web")
}
