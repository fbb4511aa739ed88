// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/reconciler"
)

// TestHomeOutlivesItsOwner has the owner's own namespace among its dependents.
func TestHomeOutlivesItsOwner(t *testing.T) {
	t.Parallel()
	const stays = "is orphaned instead of deleted, because its owner needs its contents"
	for name, tc := range map[string]struct {
		reason string
		end    func(w *world) (reconciler.Result, error)
	}{
		"Redundant": {"it is not wanted any more", func(w *world) (reconciler.Result, error) {
			w.expectPlan(w.plan(besides, compare), "0 - ConfigMap NS/besides", "0 Deleted ConfigMap NS-own/in: is no longer in the manifests", "0 Orphaned Namespace NS-own: is no longer in the manifests; it "+stays)
			return w.engine.Apply(t.Context(), w.request(besides))
		}},
		"Deleted": {"the owner goes", func(w *world) (reconciler.Result, error) {
			return w.engine.Delete(t.Context(), reconciler.DeleteRequest{Owner: w.owner})
		}},
		"Terminating": {"others delete it, and both must not wait for each other", func(w *world) (reconciler.Result, error) {
			w.create("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: held, namespace: NS-own, finalizers: [example.com/hold]}\n")
			w.remove(w.get("v1", "Namespace", "NS-own"))
			return w.engine.Delete(t.Context(), reconciler.DeleteRequest{Owner: w.owner})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.owner.Home = []string{"elsewhere", w.namespace + "-own"}
			w.mustApply(ownNamespace + inside + besides)
			var result reconciler.Result
			testenv.Eventually(t, func() (bool, string) {
				var err error
				result, err = tc.end(w)
				w.owner.Inventory = result.Inventory
				return err == nil && result.Done, notices(result.Waits)
			})
			if diff := cmp.Diff("Namespace "+w.namespace+"-own: "+stays, notices(result.Notes)); diff != "" {
				t.Errorf("%s: notes (-want +got):\n%s", tc.reason, diff)
			}
			namespace := w.get("v1", "Namespace", "NS-own")
			if namespace == nil || namespace.GetDeletionTimestamp() != nil && name != "Terminating" || namespace.GetLabels()[prefix+"/owner-id"] != "" {
				t.Fatalf("%s: expected the namespace without our mark, got %v", tc.reason, namespace)
			}
			if name == "Terminating" {
				w.patch(testenv.Object(t, w.expand("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: held, namespace: NS-own}\n")), `{"metadata":{"finalizers":null}}`)
			}
			w.remove(namespace)
		})
	}
}

// TestDefinitionOfItsOwnerOutlivesIt has the definition of the owner's own type among its dependents.
func TestDefinitionOfItsOwnerOutlivesIt(t *testing.T) {
	t.Parallel()
	const stays = "is orphaned instead of deleted, because it defines the type of its owner"
	const besides = "{apiVersion: v1, kind: ConfigMap, metadata: {name: besides}}\n"
	for name, end := range map[string]func(ty *typed) (reconciler.Result, error){
		"Redundant": func(ty *typed) (reconciler.Result, error) {
			return ty.engine.Apply(ty.Context(), ty.request(besides))
		},
		"Deleted": func(ty *typed) (reconciler.Result, error) {
			return ty.engine.Delete(ty.Context(), reconciler.DeleteRequest{Owner: ty.owner})
		},
		"Terminating": func(ty *typed) (reconciler.Result, error) {
			ty.remove(ty.definition())
			return ty.engine.Delete(ty.Context(), reconciler.DeleteRequest{Owner: ty.owner})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ty := newTyped(t)
			ty.settle(ty.expand(customType+"---\n"+besides), func(result reconciler.Result) (bool, string) { return result.Done, notices(result.Waits) })
			ty.create(ty.expand(strings.Replace(widget, "{name: NAME}", "{name: self, finalizers: [example.com/hold]}", 1)))
			self := ty.widget("self")
			t.Cleanup(func() {
				_ = ty.client.Patch(context(t), self, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`)))
			})
			ty.owner.Self = self
			if blockers := ty.check(); len(blockers) > 0 {
				t.Fatalf("the owner must not wait for itself, got %v", blockers)
			}
			ty.create(ty.expand(strings.ReplaceAll(widget, "NAME", "other")))
			if blockers := ty.check(); len(blockers) != 1 || blockers[0].Name != "other" {
				t.Fatalf("expected the other instance to block, got %v", blockers)
			}
			ty.remove(ty.widget("other"))
			var result reconciler.Result
			testenv.Eventually(t, func() (bool, string) {
				var err error
				result, err = end(ty)
				ty.owner.Inventory = result.Inventory
				return err == nil && result.Done, fmt.Sprint(notices(result.Waits), err)
			})
			if diff := cmp.Diff("CustomResourceDefinition widgets."+ty.group+": "+stays, notices(result.Notes)); diff != "" {
				t.Errorf("notes (-want +got):\n%s", diff)
			}
			crd := ty.definition()
			if crd == nil || crd.GetDeletionTimestamp() != nil && name != "Terminating" || crd.GetLabels()[prefix+"/owner-id"] != "" || slices.Contains(crd.GetFinalizers(), prefix) {
				t.Errorf("expected the definition without our marks, got %v", crd)
			}
			if ty.widget("self") == nil {
				t.Error("the owner is gone")
			}
		})
	}
}
