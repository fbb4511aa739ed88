// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// versioned are manifests of a ConfigMap with versions, of which three are kept, and of a Deployment that refers to it.
func versioned(value string) string {
	return strings.Replace(configMap("settings", value), "{name: settings}", "{name: settings, annotations: {clm.cs.sap.com/versioned: 'true', clm.cs.sap.com/kept-versions: '3'}}", 1) + `---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 0
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: main, image: example.com/none, envFrom: [{configMapRef: {name: settings}}]}]
`
}

// expectVersions compares the values of the versions that exist, sorted, and the one to which the Deployment refers.
func (p *place) expectVersions(reason, present string, want ...string) {
	p.Helper()
	var got []string
	for _, name := range p.names("v1", "ConfigMap") {
		got = append(got, p.configMap(name)["value"])
	}
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		p.Errorf("%s (-want +got):\n%s", reason, diff)
	}
	if value := p.configMap(p.referred())["value"]; value != present {
		p.Errorf("%s: want a Deployment that refers to %s, got %s", reason, present, value)
	}
}

// referred returns the name of the ConfigMap to which the Deployment refers.
func (p *place) referred() string {
	p.Helper()
	object := &appsv1.Deployment{}
	if err := p.client.Get(p.Context(), client.ObjectKey{Namespace: p.namespace, Name: "web"}, object); err != nil {
		p.Fatal(err)
	}
	return object.Spec.Template.Spec.Containers[0].EnvFrom[0].ConfigMapRef.Name
}

// expectIdle checks that nothing is pending, and that another apply changes nothing.
func (p *place) expectIdle(reason, file string) {
	p.Helper()
	before := p.versions()
	p.must("plan", "web", file, "--exit-code")
	p.must("drift", "web", "--exit-code")
	p.must("apply", "web", file)
	if diff := cmp.Diff(before, p.versions()); diff != "" {
		p.Errorf("%s: something was done (-before +after):\n%s", reason, diff)
	}
}

// TestVersions goes through the life of a ConfigMap with versions.
func TestVersions(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	file := func(value string) string { return p.file(value+".yaml", versioned(value)) }
	p.must("apply", "web", file("a"))
	p.expectVersions("installed", "a", "a")
	first := p.referred()
	if rendered := p.must("template", "web", file("a")).stdout; strings.Count(rendered, "name: "+first) != 2 || strings.Contains(rendered, "clm.cs.sap.com/versioned") {
		t.Errorf("want the name of the version twice, and no annotation that makes another one of it, got %s", rendered)
	}
	p.expectIdle("installed", file("a"))

	plan := p.expect(p.clm("plan", "web", file("b"), "--diff", "--exit-code"), exitChanges, "+ ConfigMap PLACE/settings-", "~ Deployment PLACE/web", "name: "+first)
	if strings.Contains(plan.stdout, "ConfigMap "+p.namespace+"/"+first) {
		t.Errorf("want the first version to stay, got %s", plan.stdout)
	}
	saved := t.TempDir() + "/saved"
	p.must("plan", "web", file("b"), "--out", saved)
	p.must("apply", "web", "--plan", saved)
	p.expectVersions("changed", "b", "a", "b")
	p.expectIdle("changed", file("b"))

	p.must("apply", "web", file("c"))
	p.must("apply", "web", file("d"))
	p.expectVersions("three are kept", "d", "b", "c", "d")
	p.must("apply", "web", file("b"))
	p.expectVersions("one comes back", "b", "b", "c", "d")
	p.must("apply", "web", file("e"))
	p.expectVersions("the one that came back is newer", "e", "b", "d", "e")
	p.expectIdle("the one that came back is newer", file("e"))

	p.must("rollback", "web", "2")
	p.expectVersions("rolled back", "b", "a", "b")
	p.must("drift", "web", "--exit-code")
	manifest := p.must("get", "manifest", "web").stdout
	p.expectIdle("the manifest of a revision as source", p.file("manifest.yaml", manifest))
	p.must("delete", "web")
	p.expectValues(map[string]string{})
}

// TestDeathBetweenVersions kills clm at each write of an apply that makes a new version, takes replicas from an
// autoscaler, since the manifest changes them, and leaves the image to kubectl: the next apply has the same result as
// one that nobody has killed.
func TestDeathBetweenVersions(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	file := func(k int) string {
		manifests := strings.NewReplacer("'3'", "'2'", "replicas: 0", fmt.Sprint("replicas: ", 1+k%2), "{name: web}\nspec", "{name: web, annotations: {clm.cs.sap.com/await: never}}\nspec").Replace(versioned(fmt.Sprintf("%03d", k)))
		return p.file("app.yaml", manifests)
	}
	p.must("apply", "web", file(0))
	p.force("kubectl", map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": "web"},
		"spec": map[string]any{"template": map[string]any{"spec": map[string]any{"containers": []any{map[string]any{"name": "main", "image": "theirs"}}}}},
	})
	m, killed := newMortal(t), 0
	for k := 1; !t.Failed(); k++ {
		p.scale(3)
		wasKilled := m.run(p, k, "apply", "web", file(k), "--conflicts=keep")
		p.must("apply", "web", file(k), "--conflicts=keep")
		p.expectVersions(fmt.Sprint("killed at write ", k), fmt.Sprintf("%03d", k), fmt.Sprintf("%03d", k-1), fmt.Sprintf("%03d", k))
		object := &appsv1.Deployment{}
		if err := p.client.Get(t.Context(), client.ObjectKey{Namespace: p.namespace, Name: "web"}, object); err != nil {
			t.Fatal(err)
		}
		if got, want := *object.Spec.Replicas, int32(1+k%2); got != want || object.Spec.Template.Spec.Containers[0].Image != "theirs" {
			t.Errorf("killed at write %d: want the %d replicas of the manifest and the image of kubectl, got %d and %v", k, want, got, object.Spec.Template.Spec.Containers[0])
		}
		if !wasKilled {
			break
		}
		killed++
	}
	// The lock, the revision, the inventory, two objects, and the deletion of one.
	if killed < 6 {
		t.Errorf("killed at %d writes only", killed)
	}
	p.must("delete", "web")
}
