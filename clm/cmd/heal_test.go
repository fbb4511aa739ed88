// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// steal gives a ConfigMap to another owner.
func (p *place) steal(name string) {
	p.Helper()
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: name}}
	patch := []byte(`{"metadata":{"labels":{"clm.cs.sap.com/owner-id":"other"},"annotations":{"clm.cs.sap.com/owner-id":"other"}}}`)
	if err := p.client.Patch(p.Context(), object, client.RawPatch(types.MergePatchType, patch)); err != nil {
		p.Fatal(err)
	}
}

func (p *place) state(release string) string {
	p.Helper()
	return p.must("ls", "-o", `jsonpath={.items[?(@.metadata.name=="`+release+`")].status.state}`).stdout
}

// TestReadyReleaseFails is about a release that was ready, and of which nothing but what others have changed is to be put right.
func TestReadyReleaseFails(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	source := p.file("app.yaml", configMap("one", "1")+configMap("two", "1"))
	p.must("apply", "web", source)
	p.steal("one")

	got := p.clm("drift", "web", "--correct", "-y")
	if got.code != exitRefused || !strings.Contains(got.stderr, "cannot be corrected") {
		t.Errorf("nothing can be healed, got %+v", got)
	}
	if state := p.state("web"); state != "Ready" {
		t.Errorf("nothing was tried, got state %s", state)
	}
	p.change("two", "2")
	for _, args := range [][]string{{"drift", "web", "--correct", "-y"}, {"apply", "web", source}} {
		got := p.clm(args...)
		if got.code != exitRefused || !strings.Contains(got.stderr, "has another owner") || strings.Contains(got.stderr, "recording") {
			t.Errorf("%s: want the refusal and nothing else, got %+v", args[0], got)
		}
		if state := p.state("web"); state != "Failed" {
			t.Errorf("%s: want that the failure is recorded, got state %s", args[0], state)
		}
	}
	p.must("adopt", "web", "configmap/one", "-y")
	if state := p.state("web"); state != "Ready" {
		t.Errorf("want that it has recovered, got state %s", state)
	}
	p.must("delete", "web", "-y")
}

// TestHealTellsOfTheRest is about objects that drifted, and are left alone.
func TestHealTellsOfTheRest(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	ignored := strings.Replace(configMap("ignored", "1"), "{name: ignored}", `{name: ignored, annotations: {clm.cs.sap.com/drift-policy: ignore}}`, 1)
	p.must("apply", "web", p.file("app.yaml", ignored+configMap("one", "1")))
	p.change("ignored", "2")
	for _, reason := range []string{"one object is healed, and one is not", "one object is not healed"} {
		if reason != "one object is not healed" {
			p.change("one", "2")
		}
		if got := p.clm("drift", "web", "--correct", "-y", "--exit-code"); got.code != exitChanges {
			t.Errorf("%s: want exit code %d, got %+v", reason, exitChanges, got)
		}
	}
	p.must("delete", "web", "-y")
}
