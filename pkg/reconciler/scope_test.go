// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/reconciler"
)

// TestTypeThatChangesItsScope recreates the definition of a type with another scope, and then creates an instance.
func TestTypeThatChangesItsScope(t *testing.T) {
	t.Parallel()
	for name, scopes := range map[string][2]string{"Wider": {"Namespaced", "Cluster"}, "Narrower": {"Cluster", "Namespaced"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ty := newTyped(t)
			crd := ty.expand(strings.Replace(customType, "{name: widgets.GROUP}", "{name: widgets.GROUP, annotations: {PREFIX/update-policy: recreate}}", 1))
			crd = strings.Replace(crd, "scope: Namespaced", "scope: SCOPE", 1)
			before, after := strings.Replace(crd, "SCOPE", scopes[0], 1), strings.Replace(crd, "SCOPE", scopes[1], 1)
			instance := "---" + ty.expand(strings.ReplaceAll(widget, "NAME", "own"))
			ty.settle(before+instance, func(result reconciler.Result) (bool, string) { return result.Done, notices(result.Waits) })
			// Nothing may be left that the new definition would destroy.
			ty.settle(before, func(result reconciler.Result) (bool, string) { return result.Done, notices(result.Waits) })
			ty.settle(after+instance, func(result reconciler.Result) (bool, string) {
				if result.RequeueAfter > 0 && result.RequeueAfter < time.Millisecond {
					t.Fatalf("a pass asks for the next one after %s: %s", result.RequeueAfter, notices(result.Waits))
				}
				return result.Done, notices(result.Waits)
			})
			namespace := ty.namespace
			if scopes[1] == "Cluster" {
				namespace = ""
			}
			if got := ty.owner.Inventory[1].Namespace; got != namespace {
				t.Errorf("expected namespace %q, got %q", namespace, got)
			}
			ty.mustDelete()
		})
	}
}

// TestTypeThatIsReinstalledUnderAnotherName has others recreate the type of a dependent with another resource name.
func TestTypeThatIsReinstalledUnderAnotherName(t *testing.T) {
	t.Parallel()
	ty := newTyped(t)
	ty.create(ty.expand(customType))
	instance := ty.expand(strings.ReplaceAll(widget, "NAME", "own"))
	ty.applyUntilDone(instance)
	ty.remove(ty.definition())
	testenv.Eventually(t, func() (bool, string) { return ty.definition() == nil, "the definition is not gone" })
	gizmos := testenv.Object(t, strings.NewReplacer("widgets", "gizmos", "singular: widget", "singular: gizmo").Replace(ty.expand(customType)))
	if err := ty.client.Create(t.Context(), gizmos); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.IgnoreNotFound(ty.client.Delete(context(t), gizmos)) })
	testenv.Eventually(t, func() (bool, string) {
		// Neither name may be served for a moment. A plan made before the pass may see another moment than the pass.
		result, err := ty.applyExpected(instance, nil)
		if err != nil {
			return false, err.Error()
		}
		return result.Done && ty.exists("gizmos", "own"), notices(result.Waits)
	})
	ty.mustDelete()
	if ty.exists("gizmos", "own") {
		t.Error("the instance was left behind")
	}
}

// exists asks for an object of the type's resource with a client that has not met the type before.
func (ty *typed) exists(resource, name string) bool {
	ty.Helper()
	clnt := newClusterClient(ty.TB, testenv.Config(ty.TB))
	err := clnt.DiscoveryClient().RESTClient().Get().AbsPath("/apis", ty.group, "v1", "namespaces", ty.namespace, resource, name).Do(ty.Context()).Error()
	return err == nil
}
