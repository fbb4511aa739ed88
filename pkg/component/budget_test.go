// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"regexp"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/reconciler"
)

const threeConfigMaps = "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {k: v}}\n" +
	"---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: b}, data: {k: v}}\n---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {k: v}}\n"

// heldDigest returns the digest in the message about held deletions.
func heldDigest(r *rig, widget *Widget) string {
	r.tb.Helper()
	awaitState(r, widget, StatePending, ReadyConditionReasonDeletionsHeld)
	_, _, message := widget.Status.GetState()
	digest := regexp.MustCompile(regexp.QuoteMeta(r.name+"/approve-deletions: ") + `"([0-9a-f]+)"`).FindStringSubmatch(message)
	if len(digest) != 2 {
		r.tb.Fatalf("the message lacks the annotation: %q", message)
	}
	return digest[1]
}

// TestDeletionsAwaitApproval has a generator that suddenly renders nothing. Nothing is deleted, also after a restart,
// nothing is requested while the component waits, and the annotation lets exactly these dependents go.
func TestDeletionsAwaitApproval(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	options := ReconcilerOptions{MaxDeletions: reconciler.MaxDeletionsAllButOne}
	stop := r.start(r.reconciler(options))
	widget := r.widget(threeConfigMaps)
	r.create(widget)
	awaitReady(r, widget)

	change(r, widget, func(w *Widget) { w.Spec.Objects = nil })
	digest := heldDigest(r, widget)
	_, _, message := widget.Status.GetState()
	for _, want := range []string{"3 of 3 dependents would be deleted, but only 2 may be", "ConfigMap " + r.namespace + "/a, ConfigMap " + r.namespace + "/b"} {
		if !strings.Contains(message, want) {
			t.Errorf("expected %q in %q", want, message)
		}
	}
	stop()
	restarted := r.reconciler(options)
	stop = r.start(restarted)
	defer stop()
	r.settle(widget)
	heldDigest(r, widget)

	r.requests.Reset()
	for range 5 {
		if _, err := restarted.Reconcile(t.Context(), request(widget.Namespace, widget.Name)); err != nil {
			t.Fatal(err)
		}
	}
	if count := r.requests.Count(func(request testenv.Request) bool { return !isNoise(request) }); count > 0 {
		t.Errorf("want no requests, got\n%s", r.requests)
	}

	revision := widget.Status.Revision
	change(r, widget, func(w *Widget) {
		metav1.SetMetaDataAnnotation(&w.ObjectMeta, r.name+"/approve-deletions", "0123456789abcdef")
	})
	r.settle(widget)
	if again := heldDigest(r, widget); again != digest {
		t.Errorf("the digest has changed from %s to %s", digest, again)
	}
	for _, name := range []string{"a", "b", "c"} {
		if r.configMap(name) == nil {
			t.Errorf("%s was deleted without approval", name)
		}
	}
	change(r, widget, func(w *Widget) { metav1.SetMetaDataAnnotation(&w.ObjectMeta, r.name+"/approve-deletions", digest) })
	awaitReady(r, widget)
	diff(t, "dependents", 0, len(widget.Status.Inventory))
	diff(t, "revision", revision, widget.Status.Revision)
}
