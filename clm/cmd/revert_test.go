// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestRevertOfTheFirstRevision deletes what was never installed, and nothing else.
func TestRevertOfTheFirstRevision(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	good := configMap("a", "1")
	bad := p.file("bad.yaml", good+"---"+strings.Replace(twoWaves, "matchLabels: {app: web}", "matchLabels: {app: other}", 1))
	p.expect(p.clm("apply", "web", bad, "--revert-on-failure"), 1, "release PLACE/web is deleted")
	if got := p.names("v1", "ConfigMap"); len(got) > 0 {
		t.Errorf("left behind: %v", got)
	}

	p.must("apply", "web", p.file("app.yaml", good))
	index := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: "clm.web"}}
	p.forget()
	if err := p.client.Delete(t.Context(), index); err != nil {
		t.Fatal(err)
	}
	p.must("doctor", "web", "--fix")
	for range 2 {
		p.expect(p.clm("apply", "web", bad, "--revert-on-failure"), 1, "release PLACE/web is not deleted: it was installed before")
		if value := p.configMap("a")["value"]; value != "1" {
			t.Errorf("want what was installed before to stay, got %q", value)
		}
	}
	p.must("delete", "web")
}
