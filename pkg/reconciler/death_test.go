// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/reconciler"
)

// TestDeathWhilePurging ends the process after the first object was purged, and before that is recorded.
func TestDeathWhilePurging(t *testing.T) {
	t.Parallel()
	const manifest = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, annotations: {PREFIX/purge-order: \"0\"}}\n"
	w := newWorld(t, func(s *setup) { s.config = dying(s.config, 2) })
	// The third write never happens; what the pass returns is lost with the process.
	const later = "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: b, annotations: {PREFIX/apply-order: \"1\"}}\n"
	request := reconciler.ApplyRequest{Owner: w.owner, Objects: objects(w, manifest+later), Digest: w.digest}
	_, err := w.engine.Apply(t.Context(), request)
	if err == nil {
		t.Fatal("expected to die")
	}
	if w.configMap("a") != nil {
		t.Fatal("expected a to be purged")
	}
	heir := newWorld(t)
	heir.owner, heir.namespace = w.owner, w.namespace
	heir.owner.Store = heir
	result := heir.mustApply(manifest)
	if verbs := actions(result); slices.Contains(verbs, "Created ConfigMap a") || slices.Contains(verbs, "Corrected ConfigMap a") {
		t.Errorf("what was purged was run again: %v", verbs)
	}
}

// TestDeathAfterRecreation loses the result of the pass that recreated an object.
func TestDeathAfterRecreation(t *testing.T) {
	t.Parallel()
	const manifest = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, annotations: {PREFIX/update-policy: recreate}}\ndata: {value: VALUE}\n"
	w := newWorld(t)
	w.mustApply(manifest)
	lost := w.owner.Inventory
	w.mustApply(strings.ReplaceAll(manifest, "VALUE", "b"))
	uid := w.configMap("a").GetUID()
	w.owner.Inventory = lost
	w.mustApply(strings.ReplaceAll(manifest, "VALUE", "b"))
	if w.configMap("a").GetUID() != uid {
		t.Error("the object was recreated a second time")
	}
}

// TestDeathAfterRunningAgain ends the process after it has created a purged object again.
func TestDeathAfterRunningAgain(t *testing.T) {
	t.Parallel()
	const manifest = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, annotations: {PREFIX/purge-order: \"1\"}}\ndata: {value: VALUE}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: b, annotations: {PREFIX/apply-order: \"1\"}}\ndata: {value: VALUE}\n"
	w := newWorld(t)
	w.mustApply(manifest)
	w.expectInventory("ConfigMap a Completed ", "ConfigMap b Ready Current")
	mortal := newWorld(t, func(s *setup) { s.config = dying(s.config, 1) })
	mortal.owner, mortal.namespace = w.owner, w.namespace
	mortal.owner.Store = w
	_, err := mortal.engine.Apply(t.Context(), reconciler.ApplyRequest{Owner: mortal.owner, Objects: objects(w, strings.ReplaceAll(manifest, "VALUE", "new")), Digest: "d"})
	if err == nil || w.configMap("a") == nil {
		t.Fatalf("expected to die after a, got %v", err)
	}
	w.mustDelete()
	if w.configMap("a") != nil {
		t.Error("a was left behind")
	}
}

// TestDeathAfterWantedAgain ends the process after it has created an object again that was being deleted. The cache of the one that deletes it has not heard of
// that.
func TestDeathAfterWantedAgain(t *testing.T) {
	t.Parallel()
	const manifest = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: b, annotations: {PREFIX/apply-order: \"1\"}}\ndata: {value: VALUE}\n"
	keep := strings.SplitAfter(manifest, "---\n")[1]
	w := newWorld(t, func(s *setup) { s.config = testenv.LateEvents(s.config, "configmaps", 500*time.Millisecond) })
	w.mustApply(manifest)
	w.patch(w.configMap("a"), `{"metadata":{"finalizers":["example.com/hold"]}}`)
	if _, err := w.apply(keep); err != nil {
		t.Fatal(err)
	}
	w.expectInventory("ConfigMap a Deleting Terminating", "ConfigMap b Ready Current")
	w.patch(w.configMap("a"), `{"metadata":{"finalizers":null}}`)
	mortal := newWorld(t, func(s *setup) { s.config = dying(s.config, 1) })
	mortal.owner, mortal.namespace = w.owner, w.namespace
	mortal.owner.Store = w
	_, err := mortal.engine.Apply(t.Context(), reconciler.ApplyRequest{Owner: mortal.owner, Objects: objects(w, strings.ReplaceAll(manifest, "VALUE", "new")), Digest: "d"})
	if err == nil || w.configMap("a") == nil {
		t.Fatalf("expected to die after a, got %v", err)
	}
	w.mustDelete()
}
