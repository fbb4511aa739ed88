// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"net/http"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/testenv"
)

// loseIndex deletes the record of a release, without the parts to which it refers.
func (p *place) loseIndex(release string) {
	p.Helper()
	p.as("somebody", secretKind, "clm."+release, `{"metadata":{"finalizers":null}}`)
	if err := p.client.Delete(p.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: "clm." + release}}); err != nil {
		p.Fatal(err)
	}
}

// TestLostRecordIsNoticed has pipelines apply a release whose record was deleted: what was applied once must keep its
// content, and what the sources have dropped must not be forgotten.
func TestLostRecordIsNoticed(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	once := "\n---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: once, annotations: {clm.cs.sap.com/reconcile-policy: once}}, data: {value: NUMBER}}"
	sources := func(number string, names ...string) string {
		return p.file("app.yaml", manifestOf(names...)+strings.ReplaceAll(once, "NUMBER", `"`+number+`"`))
	}
	p.must("apply", "web", sources("1", "stays", "dropped"))
	const doctor = "clm doctor web -n PLACE --fix"
	for _, tc := range []struct {
		reason, evidence string
		lose             func()
		source           string
	}{
		{"none of the objects that it had is among the sources", "there are parts of a record", func() { p.loseIndex("web") }, p.file("other.yaml", manifestOf("other"))},
		{"some of them are", "but its mark is on ConfigMap PLACE/once, ConfigMap PLACE/stays: the record was lost", func() {}, sources("2", "stays", "new")},
		{"some of them are, and nothing is left of the record", "its mark is on ConfigMap PLACE/once, ConfigMap PLACE/stays", p.loseChunks, sources("2", "stays", "new")},
	} {
		tc.lose()
		for _, args := range [][]string{{"plan"}, {"diff"}, {"apply"}, {"apply", "--dry-run=client"}, {"apply", "--diff"}, {"apply", "--adopt", "always"}} {
			got := p.clm(append([]string{args[0], "web", tc.source}, args[1:]...)...)
			if text := p.stable(got.stderr); got.code != exitRefused || !strings.Contains(text, tc.evidence) || !strings.Contains(text, doctor) {
				t.Errorf("%s, %s: want a refusal, got exit code %d: %s%s", tc.reason, args, got.code, got.stdout, text)
			}
		}
	}
	p.expectValues(map[string]string{"stays": "stays", "dropped": "dropped", "once": "1"})

	p.must("doctor", "web", "--fix", "-y")
	p.expect(p.clm("apply", "web", sources("2", "stays", "new")), 0, "ConfigMap PLACE/dropped: deleted", "1 created")
	p.expectValues(map[string]string{"stays": "stays", "new": "new", "once": "1"})
	p.must("delete", "web")
	p.must("apply", "web", sources("3", "stays"))
	p.must("delete", "web")
}

// TestRecordThatAppears is about a process that reads the record of a release right before another one creates it.
func TestRecordThatAppears(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	source := p.file("app.yaml", manifestOf("one"))
	var once sync.Once
	x := newProxy(t, func(x *proxy) {
		x.after = func(request testenv.Request) bool {
			if request.Method == http.MethodGet && request.Name == "clm.web" {
				once.Do(func() { p.must("apply", "web", source) })
			}
			return true
		}
	})
	p.expect(p.through(x).clm("apply", "web", source), 0, "release PLACE/web, revision 1, is up to date")
	p.must("delete", "web")
}

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
