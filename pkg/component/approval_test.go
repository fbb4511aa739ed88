// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/reconciler"
)

// approvalDemanded returns the digest that the message of the component names.
func (r *rig) approvalDemanded(widget *Widget) string {
	r.tb.Helper()
	_, _, message := widget.Status.GetState()
	found := regexp.MustCompile(`may be deleted only with approval; to approve, set the annotation ` + regexp.QuoteMeta(r.name) + `/approve-deletions: "([0-9a-f]{16})"; would be deleted: `).
		FindStringSubmatch(message)
	if found == nil {
		r.tb.Fatalf("the message names no annotation: %q", message)
	}
	return found[1]
}

// awaitText waits for a state with a part of its message.
func (r *rig) awaitText(widget *Widget, state State, part string) {
	r.tb.Helper()
	await(r, widget, part, func() bool {
		got, _, message := widget.Status.GetState()
		return got == state && strings.Contains(message, part)
	})
}

// TestDeletionAwaitsApproval deletes a component. Nothing is done, not even by hooks, until the deletion of the
// dependents that demand it is approved; and nothing is requested while the component waits, also after a restart.
func TestDeletionAwaitsApproval(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	d := &hookLog{}
	stop := r.start(r.reconciler(ReconcilerOptions{}).WithPreDeleteHook(d.hook(r, "pre-delete")))
	data := strings.Replace(oneConfigMap, "{name: settings}", "{name: settings, annotations: {"+r.name+"/delete-policy: confirm-on-delete}}", 1)
	widget := r.widget(data + "\n---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: other}}" + r.job("before", "deletion-hook", "pre-delete"))
	r.create(widget)
	awaitReady(r, widget)
	r.requests.Reset()
	r.delete(widget)
	awaitState(r, widget, StateDeleting, ReadyConditionReasonDeletionBlocked)
	if _, _, message := widget.Status.GetState(); !strings.HasPrefix(message, "Deletion blocked: 1 of 2 dependents may be deleted only with approval") || !strings.HasSuffix(message, ": ConfigMap "+r.namespace+"/settings") {
		t.Errorf("unexpected message %q", message)
	}
	stop()
	restarted := r.reconciler(ReconcilerOptions{}).WithPreDeleteHook(d.hook(r, "pre-delete"))
	r.start(restarted)
	r.settle(widget)
	digest := r.approvalDemanded(widget)
	if story, entries := r.story(), d.take(); len(story) > 0 || len(entries) > 0 {
		t.Errorf("want nothing to happen before the approval, got %v and %v", story, entries)
	}
	r.requests.Reset()
	for range 5 {
		if _, err := restarted.Reconcile(t.Context(), request(widget.Namespace, widget.Name)); err != nil {
			t.Fatal(err)
		}
	}
	if count := r.requests.Count(func(request testenv.Request) bool { return !isNoise(request) }); count > 0 {
		t.Errorf("want no requests, got\n%s", r.requests)
	}
	change(r, widget, func(w *Widget) {
		metav1.SetMetaDataAnnotation(&w.ObjectMeta, r.name+"/approve-deletions", "0123456789abcdef")
	})
	r.settle(widget)
	if again := r.approvalDemanded(widget); again != digest {
		t.Errorf("the digest has changed from %s to %s", digest, again)
	}
	change(r, widget, func(w *Widget) { metav1.SetMetaDataAnnotation(&w.ObjectMeta, r.name+"/approve-deletions", digest) })
	r.awaitGone(widget)
	story := r.story()
	if hook, deleted := slices.Index(story, "+jobs/before"), slices.Index(story, "-configmaps/settings"); hook < 0 || deleted < hook {
		t.Errorf("want the hook to run before dependents go, got %v", story)
	}
}

// TestArchivingAwaitsApproval: what a component demands for its deletion holds when it is archived, too. An approval
// holds for one occasion. A component that leaves its dependents behind needs none.
func TestArchivingAwaitsApproval(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.start(r.reconciler(ReconcilerOptions{}))
	widget := r.widget(oneConfigMap)
	widget.Spec.DeletePolicy = reconciler.DeletePolicyConfirmOnDelete
	r.create(widget)
	awaitReady(r, widget)
	archive := func() string {
		change(r, widget, func(w *Widget) { w.Spec.Presence = PresenceArchived })
		r.awaitText(widget, StateProcessing, "Archiving: 1 of 1 dependents may be deleted only with approval")
		return r.approvalDemanded(widget)
	}
	digest := archive()
	change(r, widget, func(w *Widget) {
		w.Spec.Presence = PresenceActive
		metav1.SetMetaDataAnnotation(&w.ObjectMeta, r.name+"/approve-deletions", digest)
	})
	awaitReady(r, widget)
	if again := archive(); again == digest {
		t.Errorf("want another digest than %s", digest)
	} else {
		change(r, widget, func(w *Widget) { metav1.SetMetaDataAnnotation(&w.ObjectMeta, r.name+"/approve-deletions", again) })
	}
	awaitState(r, widget, StatePending, ReadyConditionReasonArchived)
	change(r, widget, func(w *Widget) { w.Spec.Presence = PresenceActive })
	awaitReady(r, widget)
	r.deleteOrphaning(widget)
	r.awaitGone(widget)
	r.expectReleased("settings")
}

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
	for _, want := range []string{"3 of 3 dependents would be deleted, but at most 2 may be without approval", "ConfigMap " + r.namespace + "/a, ConfigMap " + r.namespace + "/b"} {
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
