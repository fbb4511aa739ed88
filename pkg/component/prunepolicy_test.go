// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/reconciler"
)

// pruned returns the manifest of a ConfigMap with a prune policy.
func (r *rig) pruned(name, policy string) string {
	return "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: " + name + ", annotations: {" + r.name + "/prune-policy: " + policy + "}}, data: {k: v}}\n"
}

// TestPrunePoliciesOfComponents removes all manifests. What stays does not keep the component from being ready, and what has to be approved does.
func TestPrunePoliciesOfComponents(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	options := ReconcilerOptions{PrunePolicy: new(reconciler.PrunePolicyKeep)}
	stop := r.start(r.reconciler(options))
	widget := r.widget(r.pruned("a", "confirm") + r.pruned("b", "delete") + "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}\n")
	r.create(widget)
	awaitReady(r, widget)
	change(r, widget, func(w *Widget) { w.Spec.Objects = nil })
	digest := heldDigest(r, widget)
	if _, _, message := widget.Status.GetState(); !strings.HasPrefix(message, "1 of 1 dependents would be deleted, which needs approval because of the prune policy; to approve") {
		t.Errorf("unexpected message %q", message)
	}
	stop()
	r.start(r.reconciler(options))
	r.settle(widget)
	change(r, widget, func(w *Widget) {
		metav1.SetMetaDataAnnotation(&w.ObjectMeta, r.name+"/approve-deletions", digest)
	})
	awaitReady(r, widget)
	if r.configMap("a") != nil || r.configMap("b") != nil || r.configMap("c") == nil {
		t.Error("want c to be kept, and nothing else")
	}
	diff(t, "inventory", []reconciler.Phase{reconciler.PhaseKept}, phasesOf(widget.Status.Inventory))
	r.delete(widget)
	r.awaitGone(widget)
	if r.configMap("c") != nil {
		t.Error("c stays without its component")
	}
}

func phasesOf(inventory []*reconciler.InventoryItem) []reconciler.Phase {
	phases := make([]reconciler.Phase, len(inventory))
	for i, item := range inventory {
		phases[i] = item.Phase
	}
	return phases
}

// TestKeptUnderFormerDefinition removes a manifest under a definition that knows neither prune policies nor the phase Kept. The object stays, also in the
// next process, which comes to rest.
func TestKeptUnderFormerDefinition(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	widget := (*FormerWidget)(r.widget(r.pruned("a", "keep") + "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: b}}\n"))
	start := func() (own *Reconciler[*FormerWidget], stop func()) { return r.startFormer(ReconcilerOptions{}) }
	_, stop := start()
	r.create(widget)
	awaitReady(r, widget)
	change(r, widget, func(w *FormerWidget) { w.Spec.Objects = nil })
	await(r, widget, "a to be recorded as kept, in disguise", func() bool {
		inventory := widget.Status.Inventory
		return len(inventory) == 1 && inventory[0].Name == "a" && inventory[0].Phase == reconciler.PhaseReady && inventory[0].Digest == ""
	})
	stop()
	own, stop := start()
	r.settle(widget)
	r.requests.Reset()
	for range 3 {
		if _, err := own.Reconcile(t.Context(), request(widget.Namespace, widget.Name)); err != nil {
			t.Fatal(err)
		}
	}
	if r.requests.Count(testenv.Request.IsWrite) > 0 {
		t.Errorf("want rest, got\n%s", r.requests)
	}
	if r.configMap("a") == nil {
		t.Error("the object was deleted")
	}
	stop()
	start()
	change(r, widget, func(w *FormerWidget) { w.Spec.Objects = r.objects(r.pruned("a", "delete")) })
	await(r, widget, "a to be applied again", func() bool {
		return slices.ContainsFunc(widget.Status.Inventory, func(item *reconciler.InventoryItem) bool { return item.Name == "a" && item.Digest != "" })
	})
	r.delete(widget)
	r.awaitGone(widget)
}

// TestHeldInARedundantNamespace: the condition says how to approve the deletion of an object whose namespace is redundant, too.
func TestHeldInARedundantNamespace(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.start(r.reconciler(ReconcilerOptions{}))
	inner := r.namespace + "-own"
	widget := r.widget("{apiVersion: v1, kind: Namespace, metadata: {name: " + inner + "}}\n---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: " + inner +
		", annotations: {" + r.name + "/prune-policy: confirm}}}\n")
	r.create(widget)
	awaitReady(r, widget)
	change(r, widget, func(w *Widget) { w.Spec.Objects = nil })
	digest := heldDigest(r, widget)
	change(r, widget, func(w *Widget) { metav1.SetMetaDataAnnotation(&w.ObjectMeta, r.name+"/approve-deletions", digest) })
	awaitReady(r, widget)
	diff(t, "inventory", []reconciler.Phase{}, phasesOf(widget.Status.Inventory))
}

// TestOwnerPolicyUnderFormerDefinition: what only the option kept goes when the option keeps nothing any more.
func TestOwnerPolicyUnderFormerDefinition(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	const b = "{apiVersion: v1, kind: ConfigMap, metadata: {name: b}}\n"
	widget := (*FormerWidget)(r.widget("{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n---\n" + b))
	_, stop := r.startFormer(ReconcilerOptions{PrunePolicy: new(reconciler.PrunePolicyKeep)})
	r.create(widget)
	awaitReady(r, widget)
	change(r, widget, func(w *FormerWidget) { w.Spec.Objects = r.objects(b) })
	awaitReady(r, widget)
	stop()
	r.startFormer(ReconcilerOptions{})
	testenv.Eventually(t, func() (bool, string) { return r.configMap("a") == nil, "a stays" })
}
