// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const missingNamespaces = `
apiVersion: v1
kind: ConfigMap
metadata: {name: own}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: other, namespace: PLACE-other}
`

// TestMissingNamespaceOfTheRelease plans a release whose namespace does not exist: what clm apply refuses, clm plan refuses, and before any question.
func TestMissingNamespaceOfTheRelease(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	source := p.file("app.yaml", missingNamespaces)
	home := p.namespace
	p.namespace = home + "-new"
	t.Cleanup(func() {
		for _, name := range []string{home + "-new", home + "-other"} {
			_ = p.client.Delete(context.WithoutCancel(t.Context()), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
		}
	})
	refusal := "Error: namespace " + p.namespace + " does not exist; to create it: --create-namespace\n"
	for _, args := range [][]string{{"plan", "web", source}, {"apply", "web", source, "--dry-run=server"}} {
		got := p.expect(p.clm(args...), exitRefused)
		if got.stderr != refusal || !strings.Contains(got.stdout, "! Namespace "+p.namespace+"  (create)\n  refused: does not exist; to create it: --create-namespace\n") {
			t.Errorf("clm %s: got %s%s", args[0], got.stdout, got.stderr)
		}
	}
	command, screen := p.startOnTerminal(t, nil, "apply", "web", source)
	expectExit(t, command, screen, exitRefused)
	if strings.Contains(screen.sent(), "[y/N]") {
		t.Errorf("want no question, got %s", screen.frame())
	}
	planned := p.must("plan", "web", source, "--create-namespace").stdout
	want := "+ Namespace " + p.namespace + "  (create: is needed by the release; will not be deleted with it)\n" +
		"+ Namespace " + home + "-other  (create: is needed by objects; will not be deleted with the release)\n"
	if !strings.Contains(planned, want) || !strings.Contains(planned, "\n4 to create\n") {
		t.Errorf("want both namespaces, got %s", planned)
	}
	saved := filepath.Join(t.TempDir(), "web.plan")
	p.must("plan", "web", source, "--create-namespace", "--out", saved)
	p.must("apply", "web", "--plan", saved)
	if got := p.must("plan", "web", source).stdout; !strings.Contains(got, "nothing to do, 2 unchanged") {
		t.Errorf("want nothing to do, got %s", got)
	}
	p.must("delete", "web")
}

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

// TestDeletionWarnsOfNamespaces shows before the question that a namespace will stay, because others have objects in it.
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
