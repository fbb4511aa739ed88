// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"strings"
	"testing"
)

// TestOnceLeavesWhatExists is about objects that are generated once, such as a Secret with a random password: the existing
// content counts.
func TestOnceLeavesWhatExists(t *testing.T) {
	t.Parallel()
	const manifest = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, annotations: {PREFIX/reconcile-policy: once, PREFIX/update-policy: UPDATE}}\ndata: {value: VALUE}\n"
	for _, update := range []string{"replace", "ssa-override", "recreate"} {
		t.Run(update, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			of := func(value string) string {
				return strings.NewReplacer("UPDATE", update, "VALUE", value).Replace(manifest)
			}
			expect := func(reason, uid string) {
				t.Helper()
				object := w.configMap("a")
				if object == nil {
					t.Fatalf("%s: it has gone", reason)
				}
				if diff := diffData(map[string]any{"value": "theirs"}, object); diff != "" || string(object.GetUID()) != uid {
					t.Errorf("%s: recreated: %t, %s", reason, string(object.GetUID()) != uid, diff)
				}
			}
			w.createClaimed("labels: {a: b}")
			uid := string(w.configMap("a").GetUID())
			w.expectPlan(w.plan(of("first"), compare), "0 Adopted ConfigMap NS/a: already exists and has no owner")
			w.expectActions(w.mustApply(of("first")), "Adopted ConfigMap a")
			expect("it existed before", uid)
			w.mustApply(of("second"))
			expect("its manifest changed", uid)
			w.owner.Inventory = nil
			w.mustApply(of("third"))
			expect("its record was lost", uid)
			w.mustDelete()
			if w.configMap("a") != nil {
				t.Error("it is a dependent like any other, and was left behind")
			}
		})
	}
}
