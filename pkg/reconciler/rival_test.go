// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// claimed is a ConfigMap of others; METADATA says whose.
const claimed = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, METADATA}\ndata: {value: theirs}\n"

// claims are ways in which an object may say that it belongs to others, and the messages about them.
var claims = map[string]struct{ metadata, text string }{
	"Controller": {
		"ownerReferences: [{apiVersion: example.com/v1, kind: Thing, name: theirs, uid: UID, controller: true}]",
		"is controlled by Thing.example.com theirs",
	},
	"Operator": {
		"labels: {other.example.com/owner-id: abc}, annotations: {other.example.com/owner-id: uid/shop/web}",
		"belongs to shop/web of operator other.example.com",
	},
	"OperatorLabel": {"labels: {other.example.com/owner-id: abc}", "belongs to operator other.example.com"},
	"Helm": {
		"labels: {app.kubernetes.io/managed-by: Helm}, annotations: {meta.helm.sh/release-name: web, meta.helm.sh/release-namespace: shop}",
		"belongs to Helm release shop/web",
	},
}

// TestAdoptionSparesWhatBelongsToOthers has objects without our label that belong to others all the same.
func TestAdoptionSparesWhatBelongsToOthers(t *testing.T) {
	t.Parallel()
	const manifest = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, annotations: {PREFIX/adoption-policy: POLICY}}\ndata: {value: ours}\n"
	for name, claim := range claims {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.createClaimed(claim.metadata)
			before := w.configMap("a")
			ifUnowned := strings.ReplaceAll(manifest, "POLICY", "if-unowned")
			for _, policy := range []string{"if-unowned", "never"} {
				_, err := w.apply(strings.ReplaceAll(manifest, "POLICY", policy))
				w.expectRefusal(err, "ConfigMap NS/a: already exists and "+claim.text+", but its adoption policy is "+policy)
			}
			w.expectPlan(w.plan(ifUnowned, compare), "0 - ConfigMap NS/a! already exists and "+claim.text+", but its adoption policy is if-unowned")
			w.mustDelete()
			if diff := cmp.Diff(before, w.configMap("a")); diff != "" {
				t.Fatalf("an object of others must stay as it is (-before +after):\n%s", diff)
			}
			w.owner.Inventory = nil
			w.expectActions(w.mustApply(strings.ReplaceAll(manifest, "POLICY", "always")), "Adopted ConfigMap a")
		})
	}
}

// TestTakeOverOfWhatBelongsToOthers adopts such objects on purpose.
func TestTakeOverOfWhatBelongsToOthers(t *testing.T) {
	t.Parallel()
	for name, claim := range claims {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.createClaimed(claim.metadata)
			plan, result := w.takeOver("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {value: ours}\n", "a")
			w.expectPlan(plan, "0 Adopted ConfigMap NS/a: already exists and "+claim.text)
			w.expectActions(result, "Adopted ConfigMap a")
		})
	}
}

// TestOursStaysOursIfOthersClaimIt has others add their marks to a dependent.
func TestOursStaysOursIfOthersClaimIt(t *testing.T) {
	t.Parallel()
	const manifest = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, annotations: {PREFIX/adoption-policy: never, PREFIX/update-policy: ssa-merge}}\ndata: {value: VALUE}\n"
	for name, tc := range map[string]struct{ reason, patch string }{
		"Controller": {"a controller that refers to it does not make it another object", `{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Namespace","name":"NS","uid":"UID","controller":true}]}}`},
		"Helm":       {"nor does an annotation", `{"metadata":{"annotations":{"meta.helm.sh/release-name":"web"}}}`},
		"Unlabelled": {
			"nor if our label is removed",
			`{"metadata":{"labels":{"PREFIX/owner-id":null},"ownerReferences":[{"apiVersion":"v1","kind":"Namespace","name":"NS","uid":"UID","controller":true}]}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.mustApply(strings.ReplaceAll(manifest, "VALUE", "a"))
			w.patch(w.configMap("a"), w.withUID(tc.patch))
			w.mustApply(strings.ReplaceAll(manifest, "VALUE", "b"))
			if diff := diffData(map[string]any{"value": "b"}, w.configMap("a")); diff != "" {
				t.Errorf("%s: %s", tc.reason, diff)
			}
			w.mustDelete()
			if w.configMap("a") != nil {
				t.Errorf("%s: it was left behind", tc.reason)
			}
		})
	}
}

// TestTakenOverByAnotherOperator has another operator replace our mark by its own.
func TestTakenOverByAnotherOperator(t *testing.T) {
	t.Parallel()
	const manifest = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {value: a}\n"
	w := newWorld(t)
	w.mustApply(manifest)
	w.patch(w.configMap("a"), `{"metadata":{"labels":{"PREFIX/owner-id":null,"other.example.com/owner-id":"abc"}}}`)
	w.settleError(manifest, "ConfigMap NS/a: already exists and belongs to operator other.example.com, but its adoption policy is if-unowned")
	w.mustDelete()
	if w.configMap("a") == nil {
		t.Error("an object that another operator has taken over must stay")
	}
}

// settleError makes passes until one is refused with the text.
func (w *world) settleError(manifest, want string) {
	w.Helper()
	for range 100 {
		if _, err := w.apply(manifest); err != nil {
			w.expectRefusal(err, want)
			return
		}
		w.pause()
	}
	w.Errorf("expected %q", want)
}

// createClaimed creates an object that belongs to others.
func (w *world) createClaimed(metadata string) {
	w.Helper()
	w.create(strings.ReplaceAll(claimed, "METADATA", w.withUID(metadata)))
}

// withUID puts the UID of the namespace, which exists, into a text.
func (w *world) withUID(text string) string {
	w.Helper()
	return strings.ReplaceAll(text, "UID", string(w.get("v1", "Namespace", "NS").GetUID()))
}
