// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestListByState has a release in each state in which one can be found.
func TestListByState(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.must("apply", "fine", p.file("fine.yaml", configMap("fine", "1")))
	p.must("apply", "web", p.file("web.yaml", configMap("a", "1")+configMap("b", "1")))
	p.expect(p.clm("apply", "bad", p.file("bad.yaml", configMap("c", "1")+"---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: d}, data: {value: 1}}\n")), 1)
	for _, name := range []string{"a", "b"} {
		if err := p.client.Delete(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: name}}); err != nil {
			t.Fatal(err)
		}
	}
	for states, want := range map[string]string{
		"":                "bad=Failed fine=Ready web=Ready ",
		"ready":           "fine=Ready web=Ready ",
		"Failed":          "bad=Failed ",
		"degraded":        "web=Degraded ",
		"Ready,Degraded":  "fine=Ready web=Degraded ",
		"Applying":        "",
		"Deleting,Failed": "bad=Failed ",
	} {
		args := []string{"ls", "-o", `jsonpath={range .items[*]}{.metadata.name}={.status.state} {end}`}
		if states != "" {
			args = append(args, "--state", states)
		}
		if got := p.must(args...).stdout; got != want {
			t.Errorf("--state %q: want %q, got %q", states, want, got)
		}
	}
	if got := p.stable(p.must("ls", "--state", "Degraded").stdout); !strings.Contains(got, "not ready: ConfigMap PLACE/a and 1 more") {
		t.Errorf("want what is not ready, got %s", got)
	}
	p.expect(p.clm("ls", "--state", "lost"), 1, `flag --state: "lost" is not one of Applying, Ready, Degraded, Failed, Deleting`)
	if got, want := p.offers("ls", "--state", ""), "Applying\nReady\nDegraded\nFailed\nDeleting\n:4\n"; got != want {
		t.Errorf("want all states, got %s", got)
	}
	for _, name := range []string{"bad", "fine", "web"} {
		p.must("delete", name)
	}
}
