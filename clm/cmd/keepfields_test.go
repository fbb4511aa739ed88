// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/testenv"
)

// scaled is the manifest of a Deployment that others scale.
func scaled(replicas int, image string) string {
	return fmt.Sprintf(`---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, annotations: {clm.cs.sap.com/await: never}}
spec:
  replicas: %d
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: main, image: example.com/%s, env: [{name: LEVEL, value: info}]}]}
`, replicas, image)
}

// scale changes the replicas of the Deployment as an autoscaler does.
func (p *place) scale(replicas int32) {
	p.Helper()
	object := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: "web"}}
	scale := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: replicas}}
	if err := p.client.SubResource("scale").Update(p.Context(), object, client.WithSubResourceBody(scale), client.FieldOwner("autoscaler")); err != nil {
		p.Fatal(err)
	}
}

// force applies a manifest by force as another field manager, as kubectl apply --server-side --force-conflicts does.
func (p *place) force(manager string, content map[string]any) {
	p.Helper()
	object := &unstructured.Unstructured{Object: content}
	object.SetNamespace(p.namespace)
	if err := p.client.Apply(p.Context(), client.ApplyConfigurationFromUnstructured(object), client.FieldOwner(manager), client.ForceOwnership); err != nil {
		p.Fatal(err)
	}
}

// env applies the variable of the Deployment as kubectl.
func (p *place) env(level string) {
	p.Helper()
	container := map[string]any{"name": "main", "env": []any{map[string]any{"name": "LEVEL", "value": level}}}
	p.force("kubectl", map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": "web"},
		"spec": map[string]any{"template": map[string]any{"spec": map[string]any{"containers": []any{container}}}},
	})
}

// expectScaled compares replicas, image and the variable of the Deployment, and the fields that are left to others.
func (p *place) expectScaled(reason, want, kept string) {
	p.Helper()
	object := &appsv1.Deployment{}
	if err := p.client.Get(p.Context(), client.ObjectKey{Namespace: p.namespace, Name: "web"}, object); err != nil {
		p.Fatal(err)
	}
	container := object.Spec.Template.Spec.Containers[0]
	got := fmt.Sprint(*object.Spec.Replicas, " ", strings.TrimPrefix(container.Image, "example.com/"), " ", container.Env[0].Value)
	if got != want || object.Annotations["clm.cs.sap.com/kept-fields"] != kept {
		p.Errorf("%s: want %s and kept fields %q, got %s and %q", reason, want, kept, got, object.Annotations["clm.cs.sap.com/kept-fields"])
	}
}

// TestKeptFields has an autoscaler and kubectl change fields that the manifest declares.
func TestKeptFields(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	file := func(replicas int, image string) string {
		return p.file(fmt.Sprint(image, replicas, ".yaml"), scaled(replicas, image)+configMap("other", image))
	}
	const keep = "--conflicts=keep"
	p.must("apply", "web", file(1, "a"), keep)
	p.scale(3)
	p.env("debug")
	p.expect(p.clm("plan", "web", file(1, "b"), "--conflicts=refuse"), exitRefused, ".spec.replicas belongs to autoscaler", "belongs to kubectl")
	const kept = `spec.replicas,spec.template.spec.containers[name="main"].env[name="LEVEL"].value`
	p.expect(p.clm("plan", "web", file(1, "b"), keep), 0, "fields that are left to other field managers from now on: "+strings.ReplaceAll(kept, ",", ", "))
	p.must("apply", "web", file(1, "b"), keep)
	p.expectScaled("what the manifest does not change", "3 b debug", kept)
	p.expectIdle("kept", file(1, "b"))
	p.must("plan", "web", file(1, "b"), keep, "--exit-code")
	p.must("plan", "web", file(1, "b"), "--conflicts=refuse", "--exit-code")

	p.scale(4)
	p.must("plan", "web", file(1, "b"), "--exit-code")
	p.must("drift", "web", "--exit-code")
	p.must("apply", "web", file(1, "c"))
	p.expectScaled("a later revision, without the flag", "4 c debug", kept)

	p.must("apply", "web", file(2, "c"), keep)
	p.expectScaled("the manifest changes a kept field", "2 c debug", `spec.template.spec.containers[name="main"].env[name="LEVEL"].value`)
	p.scale(5)
	p.expect(p.clm("drift", "web", "--exit-code"), exitChanges, ".spec.replicas")
	p.must("apply", "web", file(2, "c"), keep)
	p.expectScaled("nothing but drift", "5 c debug", kept)
	p.expectIdle("nothing but drift", file(2, "c"))

	saved := t.TempDir() + "/saved"
	p.must("plan", "web", file(2, "d"), keep, "--out", saved)
	p.must("apply", "web", "--plan", saved)
	p.expectScaled("a saved plan", "5 d debug", kept)

	p.must("apply", "web", file(2, "d"), "--conflicts=force")
	p.expectScaled("taken by force", "2 d info", "")
	p.expectIdle("taken by force", file(2, "d"))
	p.must("delete", "web")
}

// TestChangesThatWereNotWritten: a field that the manifest changes is taken, even if an earlier apply has recorded the
// change, and could not write it.
func TestChangesThatWereNotWritten(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	const keep = "--conflicts=keep"
	file := func(replicas int, image, first string) string {
		return p.file("app.yaml", first+strings.Replace(scaled(replicas, image), "await: never", `await: never, clm.cs.sap.com/apply-order: "1"`, 1))
	}
	p.must("apply", "web", file(1, "a", ""), keep)
	p.scale(3)
	gated := file(2, "b", "---"+gate)
	for _, args := range [][]string{{"--timeout", "1s"}, {"--timeout", "1s"}, {"--no-wait=wave"}} {
		p.clm(append([]string{"apply", "web", gated, keep}, args...)...)
		p.expectScaled("an earlier wave is not ready", "3 a info", "")
	}
	p.openGate()
	p.must("apply", "web", gated, keep)
	p.expectScaled("the earlier wave is ready", "2 b info", "")
	p.scale(3)
	p.must("apply", "web", gated, keep)
	p.expectScaled("what is ready is the base", "3 b info", "spec.replicas")
	p.must("delete", "web")
}

// TestKeptFieldsAtARollback: returning to a revision does not take what was left to others since.
func TestKeptFieldsAtARollback(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	file := func(replicas int, image, more string) string {
		return p.file("app.yaml", scaled(replicas, image)+more)
	}
	p.must("apply", "web", file(1, "a", ""))
	p.scale(3)
	failing := file(1, "b", failingJobs(job("bad", "update-policy", "recreate")))
	p.expect(p.clm("apply", "web", failing, "--conflicts=keep", "--revert-on-failure"), exitNotReady, "Job PLACE/bad")
	p.expectScaled("reverted", "3 a info", "spec.replicas")
	p.expectIdle("reverted", file(1, "a", ""))
	p.must("apply", "web", file(1, "c", ""))
	p.must("rollback", "web", "1")
	p.expectScaled("rolled back", "3 a info", "spec.replicas")
	p.must("rollback", "web", "1", "--conflicts=force")
	p.expectScaled("rolled back by force", "1 a info", "")
	p.must("delete", "web")
}

// TestKeptFieldsOfADamagedRecord: fields must not be taken from others because nobody knows any more that they were
// left to them.
func TestKeptFieldsOfADamagedRecord(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.must("apply", "web", p.file("app.yaml", scaled(1, "a")))
	p.scale(3)
	p.must("apply", "web", p.file("app.yaml", scaled(1, "b")), "--conflicts=keep")
	p.loseChunks()
	p.expect(p.clm("apply", "web", p.file("app.yaml", scaled(1, "c"))), exitRefused, "which fields release PLACE/web leaves to other field managers is not known", "--conflicts=force")
	p.expectScaled("refused", "3 b info", "spec.replicas")
	p.must("apply", "web", p.file("app.yaml", scaled(1, "c")), "--conflicts=force")
	p.expectScaled("by force", "1 c info", "")
	p.must("delete", "web")
}

// TestFieldsThatChangeMeanwhile has an autoscaler scale after the plan was made, and before anything is applied.
func TestFieldsThatChangeMeanwhile(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	file := func(image string) string { return p.file("app.yaml", scaled(1, image)) }
	for _, test := range []struct {
		conflicts string
		replicas  int32
		says      string
	}{
		{"refuse", 2, "was changed by another client since the plan was made"},
		{"keep", 3, "was changed by another client since the plan was made"},
	} {
		p.must("apply", "web", file("a"), "--conflicts=force")
		var once sync.Once
		x := newProxy(t, func(x *proxy) {
			x.before = func(request testenv.Request) bool {
				if request.IsWrite() && isLease(request) {
					once.Do(func() { p.scale(test.replicas) })
				}
				return true
			}
		})
		got := p.through(x).clm("apply", "web", file("b"), "--conflicts="+test.conflicts)
		p.expect(got, exitRefused, "the plan is outdated: Deployment PLACE/web: ", test.says)
		p.expectScaled(test.conflicts, fmt.Sprintf("%d a info", test.replicas), "")
	}
	p.must("apply", "web", file("b"), "--conflicts=keep")
	p.expectScaled("again", "3 b info", "spec.replicas")
	p.must("delete", "web")
}

// TestFieldsOfOthers applies objects of which others have changed fields.
func TestFieldsOfOthers(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.must("apply", "web", p.file("first.yaml", configMap("a", "1")+configMap("b", "1")))
	theirs := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: "a"}}
	patch := client.RawPatch(types.MergePatchType, []byte(`{"data":{"value":"theirs","more":"theirs"}}`))
	if err := p.client.Patch(t.Context(), theirs, patch, client.FieldOwner("somebody")); err != nil {
		t.Fatal(err)
	}
	second := p.file("second.yaml", configMap("a", "2")+configMap("b", "2"))
	before := p.versions()
	want := "Error: ConfigMap PLACE/a: .data.value belongs to somebody\n" +
		"fields with other values belong to other field managers; to take them over: --conflicts=force; to take over only those that the manifest changes: --conflicts=keep\n"
	for _, args := range [][]string{{"plan", "web", second}, {"apply", "web", second}, {"apply", "web", second, "--dry-run"}} {
		got := p.expect(p.clm(append(args, "--conflicts=refuse")...), exitRefused)
		if diff := cmp.Diff(strings.ReplaceAll(want, "PLACE", p.namespace), got.stderr); diff != "" {
			t.Errorf("clm %s (-want +got)\n%s", args[0], diff)
		}
	}
	if diff := cmp.Diff(before, p.versions()); diff != "" {
		t.Errorf("something was done (-before +after):\n%s", diff)
	}
	// A field that has the wanted value already is no conflict.
	same := p.file("same.yaml", configMap("a", "theirs")+configMap("b", "2"))
	p.must("apply", "web", same, "--conflicts=refuse")
	if data := p.configMap("a"); data["value"] != "theirs" || data["more"] != "theirs" {
		t.Errorf("want the fields of others, got %v", data)
	}
	p.must("apply", "web", second)
	if data := p.configMap("a"); data["value"] != "2" {
		t.Errorf("want the field to be taken, got %v", data)
	}
	p.must("delete", "web")
}
