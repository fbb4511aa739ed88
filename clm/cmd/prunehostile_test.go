// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// pendingApproved leaves a redundant object whose deletion was approved in a command that did not wait for it. All others are ready.
func (p *place) pendingApproved() {
	p.Helper()
	p.must("apply", "web", p.file("app.yaml", withPrunePolicy("a", "confirm")+configMap("c", "1")+configMap("d", "1")))
	slow := strings.Replace(configMap("slow", "1"), "metadata: {", "metadata: {annotations: {clm.cs.sap.com/ready-when: 'has(self.metadata.labels.go)'}, ", 1)
	less := p.file("less.yaml", configMap("c", "1")+configMap("d", "1")+slow)
	got := p.clm("apply", "web", less)
	digest := regexp.MustCompile(`--approve-deletions ([0-9a-f]+)`).FindStringSubmatch(got.stderr)[1]
	p.must("apply", "web", less, "--no-wait", "--approve-deletions", digest)
	if p.configMap("a") == nil {
		p.Fatal("already deleted")
	}
	p.label("slow", "go")
}

// label sets a label on a ConfigMap as another client.
func (p *place) label(name, key string) {
	p.Helper()
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: name}}
	patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"labels":{%q:"yes"}}}`, key))
	if err := p.client.Patch(p.Context(), object, patch, client.FieldOwner("somebody")); err != nil {
		p.Fatal(err)
	}
}

// TestHealWithHeldDeletions says that a deletion has to be approved, and does not wait for that.
func TestHealWithHeldDeletions(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.pendingApproved()
	p.change("c", "2")
	got := p.clm("drift", "web", "--correct", "-y", "--timeout", "4s")
	if !strings.Contains(got.stderr, "approve") {
		t.Error("clm waits for an approval, and does not say so")
	}
	p.must("delete", "web", "-y")
}

// TestMoveWithHeldDeletions says that a deletion has to be approved, and does not wait for that.
func TestMoveWithHeldDeletions(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.pendingApproved()
	p.must("apply", "other", p.file("other.yaml", configMap("x", "1")))
	got := p.clm("move", "--from", "web", "--to", "other", "configmap/d", "-y", "--timeout", "4s")
	if !strings.Contains(got.stderr, "approve") {
		t.Error("clm waits for an approval, and does not say so")
	}
	p.must("delete", "web", "-y")
	p.must("delete", "other", "-y")
}

// TestKeptInARedundantNamespace: what stays does not keep the release from being ready.
func TestKeptInARedundantNamespace(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	inner := "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: PLACE-own}\n---\n" +
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: PLACE-own, annotations: {clm.cs.sap.com/prune-policy: keep}}}\n"
	p.must("apply", "web", p.file("app.yaml", configMap("c", "1")+inner))
	less := p.file("less.yaml", configMap("c", "1"))
	if got := p.must("plan", "web", less).stdout; strings.Contains(got, "to delete") {
		t.Errorf("want nothing to be deleted, got %s", got)
	}
	p.must("apply", "web", less)
	p.must("delete", "web", "-y")
}

// TestKeptIsNoDrift: an object that is kept because of its prune policy has not drifted.
func TestKeptIsNoDrift(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.must("apply", "web", p.file("app.yaml", withPrunePolicy("b", "keep")+configMap("c", "1")))
	p.must("apply", "web", p.file("less.yaml", configMap("c", "1")))
	p.expect(p.clm("plan", "web", p.file("less.yaml", configMap("c", "1")), "--exit-code"), 0)
	p.expect(p.clm("drift", "web", "--exit-code"), 0, "has not drifted")
	p.must("delete", "web", "-y")
}

// TestClmAwaitsReports of a type that existed before, in each command.
func TestClmAwaitsReports(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	definition := `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.PLACE.example.com}
spec:
  group: PLACE.example.com
  scope: Namespaced
  names: {kind: Thing, plural: things, singular: thing, listKind: ThingList}
  versions: [{name: v1, served: true, storage: true, subresources: {status: {}}, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true, properties: {
    status: {type: object, properties: {conditions: {type: array, items: {type: object, x-kubernetes-preserve-unknown-fields: true}}}}}}}}]
`
	p.must("apply", "crd", p.file("crd.yaml", definition))
	source := p.file("one.yaml", "apiVersion: PLACE.example.com/v1\nkind: Thing\nmetadata: {name: one}\n")
	const waits = "its controller has not reported any condition yet"
	p.expect(p.timesOut(waits, "apply", "web", source, "--timeout", "10m"), exitNotReady, waits)
	p.expect(p.timesOut(waits, "wait", "web", "--timeout", "10m"), exitNotReady, waits)
	p.expect(p.clm("tree", "web"), 0)
	object := &unstructured.Unstructured{}
	object.SetAPIVersion(strings.ReplaceAll("PLACE.example.com/v1", "PLACE", p.namespace))
	object.SetKind("Thing")
	object.SetNamespace(p.namespace)
	object.SetName("one")
	patch := client.RawPatch(types.MergePatchType, []byte(`{"status":{"conditions":[{"type":"Synced","status":"True"}]}}`))
	if err := p.client.Status().Patch(p.Context(), object, patch); err != nil {
		p.Fatal(err)
	}
	p.must("apply", "web", source, "--timeout", "10s")
	p.must("delete", "web", "-y")
	p.must("delete", "crd", "-y")
}
