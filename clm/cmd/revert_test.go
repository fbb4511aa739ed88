// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/testenv"
)

// TestRevertOfTheFirstRevision deletes what was never installed, and nothing else.
func TestRevertOfTheFirstRevision(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	good := configMap("a", "1")
	bad := p.file("bad.yaml", good+"---"+strings.Replace(twoWaves, "matchLabels: {app: web}", "matchLabels: {app: other}", 1))
	p.expect(p.clm("apply", "web", bad, "--revert-on-failure"), 1, "release PLACE/web was deleted", "revision 1 has failed; the release was deleted\n")
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
		p.expect(p.clm("apply", "web", bad, "--revert-on-failure"), 1, "release PLACE/web was not deleted: it was first applied by an earlier revision")
		if value := p.configMap("a")["value"]; value != "1" {
			t.Errorf("want what was installed before to stay, got %q", value)
		}
	}
	p.must("delete", "web")
}

// TestRevertKeepsWhatWasAdopted deletes only what clm has created.
func TestRevertKeepsWhatWasAdopted(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	theirs := func(name string) *corev1.ConfigMap {
		t.Helper()
		object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: name}, Data: map[string]string{"value": "theirs"}}
		if err := p.client.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
		return object
	}
	bad := "---" + strings.Replace(twoWaves, "matchLabels: {app: web}", "matchLabels: {app: other}", 1)
	expectKept := func(name string) {
		t.Helper()
		object := &corev1.ConfigMap{}
		if err := p.client.Get(t.Context(), client.ObjectKey{Namespace: p.namespace, Name: name}, object); err != nil {
			t.Fatal(err)
		}
		if object.DeletionTimestamp != nil || len(object.Labels) > 0 {
			t.Errorf("want it to belong to nobody again, got labels %v", object.Labels)
		}
	}

	theirs("theirs")
	source := p.file("first.yaml", configMap("theirs", "1")+configMap("ours", "1")+bad)
	p.expect(p.clm("apply", "web", source, "--revert-on-failure"), 1, "release PLACE/web was deleted", "These objects existed before the release")
	expectKept("theirs")
	err := p.client.Get(t.Context(), client.ObjectKey{Namespace: p.namespace, Name: "ours"}, &corev1.ConfigMap{})
	if !apierrors.IsNotFound(err) {
		t.Errorf("want what was created to be deleted, got %v", err)
	}

	// The attempt that fails finally is not the one that has adopted.
	p.awaitSecondAfter(theirs("older").CreationTimestamp)
	source = p.file("second.yaml", configMap("older", "1")+configMap("ours", "1")+bad)
	p.expect(p.clm("apply", "web", source), 1)
	p.expect(p.clm("apply", "web", source, "--revert-on-failure"), 1, "release PLACE/web was deleted")
	expectKept("older")

	// Nothing was changed of what belongs to another release.
	p.must("apply", "owner", p.file("owner.yaml", configMap("shared", "1")))
	p.awaitSecondAfter(theirs("between").CreationTimestamp)
	source = p.file("shared.yaml", configMap("shared", "2")+configMap("ours", "1"))
	p.expect(p.clm("apply", "web", source), exitRefused)
	got := p.expect(p.clm("apply", "web", source, "--revert-on-failure"), exitRefused, "release PLACE/web was deleted", "note: ConfigMap PLACE/shared: belongs to release PLACE/owner, and is left alone")
	if strings.Contains(got.stderr, "with its changes") {
		t.Errorf("want nothing to be said about changes of an object that was refused: %s", got.stderr)
	}
	p.must("delete", "owner")

	p.must("apply", "web", p.file("good.yaml", configMap("ours", "1")))
	theirs("third")
	source = p.file("third.yaml", configMap("third", "1")+configMap("ours", "2")+bad)
	p.expect(p.clm("apply", "web", source, "--revert-on-failure"), 1, "release PLACE/web, revision 3, is ready", "revision 2 has failed; in force is revision 3, with the objects of revision 1\n")
	expectKept("third")
	if value := p.configMap("ours")["value"]; value != "1" {
		t.Errorf("want the last revision that was ready, got %q", value)
	}
	p.must("delete", "web")
}

// awaitSecondAfter waits until objects that the API server creates are younger: their age has whole seconds.
func (p *place) awaitSecondAfter(created metav1.Time) {
	p.Helper()
	testenv.Eventually(p, func() (bool, string) {
		probe := &corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, GenerateName: "probe-"}, InvolvedObject: corev1.ObjectReference{Namespace: p.namespace}}
		if err := p.client.Create(p.Context(), probe); err != nil {
			return false, err.Error()
		}
		return created.Before(&probe.CreationTimestamp), "it is still the same second"
	})
}

// TestRevertOfWhatWasReady has a revision fail that was ready, because of what others do, as often as it is applied
// again.
func TestRevertOfWhatWasReady(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	source := p.file("app.yaml", configMap("one", "1")+configMap("two", "1"))
	p.must("apply", "web", source)
	p.steal("one")
	for range 3 {
		p.change("two", "2")
		p.expect(p.clm("apply", "web", source, "--revert-on-failure"), exitRefused, "has another owner")
		p.expectHistory("Ready")
		if p.configMap("two") == nil {
			t.Fatal("want what was ready neither to be deleted nor to be replaced")
		}
	}
	p.must("delete", "web")
}
