// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/component-operator/runtime/internal/digest"
	"github.com/component-operator/runtime/internal/requests"
	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/reconciler"
)

func TestDefinitionDeletedByOthersIsCreatedAgain(t *testing.T) {
	t.Parallel()
	ty := newTyped(t)
	manifests := ty.expand(customType)
	ty.settle(manifests, func(result reconciler.Result) (bool, string) { return result.Done, notices(result.Waits) })
	before := ty.definition()
	ty.remove(ty.definition())
	ty.settle(manifests, func(result reconciler.Result) (bool, string) {
		after := ty.definition()
		return result.Done && after != nil && after.GetUID() != before.GetUID(), "the definition is not created again: " + notices(result.Waits)
	})
}

func TestRecreationOfDefinitionSparesInstances(t *testing.T) {
	t.Parallel()
	ty := newTyped(t)
	manifests := ty.expand(strings.Replace(customType, "{name: widgets.GROUP}", "{name: widgets.GROUP, annotations: {PREFIX/update-policy: recreate}}", 1))
	ty.settle(manifests, func(result reconciler.Result) (bool, string) { return result.Done, notices(result.Waits) })
	ty.create(ty.expand(strings.ReplaceAll(widget, "NAME", "foreign")))
	before := ty.definition()
	changed := strings.Replace(manifests, "PREFIX/update-policy", "changed: \"1\", PREFIX/update-policy", 1)
	ty.expectHeld(changed, "foreign")
	if instance := ty.widget("foreign"); instance == nil || instance.GetDeletionTimestamp() != nil {
		t.Fatal("the foreign instance was deleted together with its definition")
	}
	ty.remove(ty.widget("foreign"))
	ty.settle(changed, func(result reconciler.Result) (bool, string) {
		after := ty.definition()
		return result.Done && after != nil && after.GetUID() != before.GetUID(), "the definition is not created again: " + notices(result.Waits)
	})
}

// TestRecreationOfDefinitionSparesItsOwnInstances has a type that only the component itself uses: the recreation would wait for
// its own instances.
func TestRecreationOfDefinitionSparesItsOwnInstances(t *testing.T) {
	t.Parallel()
	ty := newTyped(t)
	instance := "---" + ty.expand(strings.ReplaceAll(widget, "NAME", "own"))
	manifests := recreated(ty, "a") + instance
	ty.settle(manifests, func(result reconciler.Result) (bool, string) { return result.Done, notices(result.Waits) })
	before := ty.definition()
	ty.expectHeld(recreated(ty, "b")+instance, "own")
	ty.expectNoBarrier()
	// Another update policy is what the message advises.
	ty.mustApply(strings.Replace(recreated(ty, "b"), "recreate", "replace", 1) + instance)
	if after := ty.definition(); after.GetUID() != before.GetUID() || after.GetAnnotations()["value"] != "b" || ty.widget("own") == nil {
		t.Errorf("expected the definition to be updated in place, got %v", after.GetAnnotations())
	}
}

// TestRecreationOfForeignDefinitionSparesInstances adopts a type with an identity that may do everything but list instances.
func TestRecreationOfForeignDefinitionSparesInstances(t *testing.T) {
	t.Parallel()
	for name, id := range map[string]string{"NobodyHasIt": "", "SomebodyHasIt": "somebody/else"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ty := newTyped(t, answering("/v1/widgets", http.StatusForbidden, metav1.StatusReasonForbidden))
			manifests := strings.Replace(recreated(ty, "a"), "PREFIX/update-policy", "PREFIX/adoption-policy: always, PREFIX/update-policy", 1)
			foreign := testenv.Object(t, ty.expand(customType))
			if id != "" {
				foreign.SetLabels(map[string]string{prefix + "/owner-id": digest.OwnerLabel(id)})
			}
			if err := ty.client.Create(t.Context(), foreign); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = ty.client.Delete(context(t), foreign) })
			ty.create(ty.expand(strings.ReplaceAll(widget, "NAME", "theirs")))
			testenv.Eventually(t, func() (bool, string) {
				result, err := ty.applyExpected(manifests, nil)
				if got := ty.definition(); got == nil || got.GetUID() != foreign.GetUID() || got.GetDeletionTimestamp() != nil || ty.widget("theirs") == nil {
					t.Fatal("the definition was deleted, and with it what belongs to others")
				}
				return err != nil && strings.Contains(err.Error(), "listing instances of Widget."+ty.group), fmt.Sprint(err, notices(result.Waits))
			})
			ty.expectNoBarrier()
			plan, err := ty.engine.Plan(t.Context(), ty.request(manifests), reconciler.PlanOptions{Compare: true})
			if err != nil || !strings.Contains(plan.Changes[0].Refusal, "it is not known whether there are instances of its types: listing instances of Widget.") {
				t.Errorf("want the plan to say so, got %v, %v", err, plan.Changes)
			}
		})
	}
}

// expectHeld expects that a definition is not recreated because of an instance, and that a plan says so.
func (ty *typed) expectHeld(manifests, instance string) {
	ty.Helper()
	want := ": cannot be recreated, because there are instances of its types: Widget." + ty.group + " NS/" + instance +
		"; use another update policy, remove the annotation recreate-if-immutable, or delete them first"
	if change := ty.plan(manifests, compare).Changes[0]; !change.Recreate || ": "+change.Refusal != ty.world.expand(want) {
		ty.Errorf("planned: %v, refusal: %q", change.Recreate, change.Refusal)
	}
	_, err := ty.engine.Apply(ty.Context(), ty.request(manifests))
	ty.expectRefusal(err, "CustomResourceDefinition widgets."+ty.group+want)
	if definition := ty.definition(); definition == nil || definition.GetDeletionTimestamp() != nil {
		ty.Error("the definition was deleted")
	}
}

// TestFormerFinalizers has one version of an operator delete, orphan or change objects that another version has applied.
func TestFormerFinalizers(t *testing.T) {
	t.Parallel()
	type versions struct{ former, current option }
	finalizers := func(current string, former ...string) option {
		return withOptions(func(o *reconciler.Options) { o.Finalizer, o.FormerFinalizers = current, former })
	}
	brief := func(s *setup) { s.brief = true }
	for version, v := range map[string]versions{
		"Another": {finalizers("example.io/former"), finalizers("example.io/current", "example.io/former")},
		"None":    {finalizers(prefix), brief},
		"Never":   {brief, brief},
	} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			testFormerFinalizers(t, v.former, v.current, version == "Another")
		})
	}
}

func testFormerFinalizers(t *testing.T, former, current option, remains bool) {
	for name, end := range map[string]func(ty *typed, manifests string){
		"Deleted": func(ty *typed, _ string) { ty.mustDelete() },
		"Released": func(ty *typed, manifests string) {
			ty.mustApply(strings.Replace(manifests, "metadata: {", "metadata: {annotations: {"+prefix+"/delete-policy: orphan}, ", 1))
			ty.mustDelete()
		},
		"Changed": func(ty *typed, manifests string) {
			ty.mustApply(strings.Replace(manifests, "metadata: {", "metadata: {labels: {changed: yes-it-is}, ", 1))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := newTyped(t, former)
			manifests := before.expand(customType)
			before.mustApply(manifests)
			after := newTyped(t, current)
			after.owner, after.namespace, after.group = before.owner, before.namespace, before.group
			after.owner.Store = after
			after.mustApply(manifests)
			end(after, manifests)
			switch definition := after.definition(); {
			case name == "Deleted" && definition != nil:
				t.Errorf("the definition is still there, with finalizers %v", definition.GetFinalizers())
			case name == "Deleted":
			case definition == nil:
				t.Error("the definition is gone")
			case slices.Contains(definition.GetFinalizers(), "example.io/current") != (remains && name == "Changed") ||
				slices.ContainsFunc(definition.GetFinalizers(), func(f string) bool { return f == prefix || f == "example.io/former" }):
				t.Errorf("the definition has the finalizers %v", definition.GetFinalizers())
			}
		})
	}
}

func TestUnlabelledDefinitionIsReleased(t *testing.T) {
	t.Parallel()
	ty := newTyped(t)
	ty.settle(ty.expand(customType), func(result reconciler.Result) (bool, string) { return result.Done, notices(result.Waits) })
	ty.patch(ty.definition(), `{"metadata":{"labels":{"PREFIX/owner-id":null}}}`)
	ty.mustDelete()
}

func TestVersionThatIsNoLongerServed(t *testing.T) {
	t.Parallel()
	ty := newTyped(t)
	const older = "versions:\n  - {name: v1alpha1, served: ALPHA, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}"
	both := strings.NewReplacer("versions:", older, "served: true", "served: NEWER", "storage: true", "storage: false").Replace(customType)
	served := func(text, alpha, newer string) string {
		return strings.NewReplacer("ALPHA", alpha, "NEWER", newer).Replace(ty.expand(text))
	}
	old := func(name string) string {
		return ty.expand(strings.NewReplacer("NAME", name, "GROUP/v1", "GROUP/v1alpha1").Replace(widget))
	}
	manifests := served(both, "true", "false") + "---" + old("own")
	ty.settle(manifests, func(result reconciler.Result) (bool, string) { return result.Done, notices(result.Waits) })
	ty.check() // has the client discover the older version
	ty.create(old("foreign"))
	// The next version of the manifests moves on to v1, and does not want the instance any more.
	next := served(both, "false", "true")
	ty.settle(next, func(result reconciler.Result) (bool, string) { return result.Done, notices(result.Waits) })
	testenv.Eventually(t, func() (bool, string) { return ty.widget("foreign") != nil, "v1 is not served" })
	if ty.widget("own") != nil {
		t.Errorf("the record of the instance is gone, and the instance is still there: %v", ty.inventory())
	}
	if blockers := ty.check(); len(blockers) != 1 {
		t.Errorf("expected the foreign instance to block, got %v", blockers)
	}
	if _, err := ty.delete(); err != nil {
		t.Error(err)
	}
	if instance := ty.widget("foreign"); instance == nil || instance.GetDeletionTimestamp() != nil {
		t.Error("the foreign instance was deleted together with its definition")
	}
}

// TestReleaseIsGuarded has another owner adopt a definition after it was observed, and before it is orphaned.
func TestReleaseIsGuarded(t *testing.T) {
	t.Parallel()
	var ty *typed
	var armed atomic.Bool
	takeOver := func(next http.RoundTripper) http.RoundTripper {
		return requests.RoundTripper(func(request *http.Request) (*http.Response, error) {
			response, err := next.RoundTrip(request)
			if request.Method == http.MethodGet && armed.CompareAndSwap(true, false) {
				ty.patch(ty.definition(), `{"metadata":{"labels":{"PREFIX/owner-id":"other"}}}`)
			}
			return response, err
		})
	}
	ty = newTyped(t, withoutObserver, func(s *setup) { s.config.Wrap(takeOver) })
	ty.mustApply(ty.expand(strings.Replace(customType, "{name: widgets.GROUP}", "{name: widgets.GROUP, annotations: {PREFIX/delete-policy: orphan}}", 1)))
	armed.Store(true)
	ty.mustDelete()
	if owner := ty.definition().GetLabels()[prefix+"/owner-id"]; owner != "other" {
		t.Errorf("expected the mark of the new owner to stay, got %q", owner)
	}
}
