// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/manifest"
	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/reconciler"
)

func TestRecreationOfDefinitionSparesInstances(t *testing.T) {
	t.Parallel()
	ty := newTyped(t)
	manifests := ty.expand(strings.Replace(customType, "{name: widgets.GROUP}", "{name: widgets.GROUP, annotations: {PREFIX/update-policy: recreate}}", 1))
	ty.settle(manifests, done)
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

// TestRecreationOfDefinitionSparesItsOwnInstances has a type that only the component itself uses: the recreation would
// wait for its own instances.
func TestRecreationOfDefinitionSparesItsOwnInstances(t *testing.T) {
	t.Parallel()
	ty := newTyped(t)
	instance := "---" + ty.expand(strings.ReplaceAll(widget, "NAME", "own"))
	manifests := recreated(ty, "a") + instance
	ty.settle(manifests, done)
	before := ty.definition()
	ty.expectHeld(recreated(ty, "b")+instance, "own")
	ty.expectNoBarrier()
	// Another update policy is what the message advises.
	ty.mustApply(strings.Replace(recreated(ty, "b"), "recreate", "replace", 1) + instance)
	if after := ty.definition(); after.GetUID() != before.GetUID() || after.GetAnnotations()["value"] != "b" || ty.widget("own") == nil {
		t.Errorf("expected the definition to be updated in place, got %v", after.GetAnnotations())
	}
}

// TestRecreationOfForeignDefinitionSparesInstances adopts a type with an identity that may do everything but list
// instances.
func TestRecreationOfForeignDefinitionSparesInstances(t *testing.T) {
	t.Parallel()
	for name, id := range map[string]string{"NobodyHasIt": "", "SomebodyHasIt": "somebody/else"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ty := newTyped(t, answering("/v1/widgets", http.StatusForbidden, metav1.StatusReasonForbidden))
			manifests := strings.Replace(recreated(ty, "a"), "PREFIX/update-policy", "PREFIX/adoption-policy: always, PREFIX/update-policy", 1)
			foreign := testenv.Object(t, ty.expand(customType))
			if id != "" {
				foreign.SetLabels(map[string]string{prefix + "/owner-id": manifest.OwnerLabel(id)})
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

// TestFormerFinalizers has one version of an operator delete, orphan or change objects that another version has
// applied.
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

const customType = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.GROUP}
spec:
  group: GROUP
  scope: Namespaced
  names: {kind: Widget, listKind: WidgetList, plural: widgets, singular: widget}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`

const widget = `
apiVersion: GROUP/v1
kind: Widget
metadata: {name: NAME}
spec: {size: 1}
`

// typed is a world with a type of its own, whose definition is removed at the end whatever happens.
type typed struct {
	*world
	group string
}

func newTyped(t *testing.T, options ...option) *typed {
	w := newWorld(t, options...)
	ty := &typed{world: w, group: "group." + w.namespace + ".example.com"}
	t.Cleanup(func() {
		crd := ty.definition()
		if crd == nil {
			return
		}
		crd.SetFinalizers(nil)
		if err := client.IgnoreNotFound(w.client.Update(context(t), crd)); err != nil {
			t.Log(err)
		}
		if err := client.IgnoreNotFound(w.client.Delete(context(t), crd)); err != nil {
			t.Log(err)
		}
	})
	return ty
}

func (ty *typed) expand(manifests string) string {
	return strings.ReplaceAll(manifests, "GROUP", ty.group)
}

func (ty *typed) definition() *unstructured.Unstructured {
	crd := &unstructured.Unstructured{}
	crd.SetAPIVersion("apiextensions.k8s.io/v1")
	crd.SetKind("CustomResourceDefinition")
	if err := ty.client.Get(context(ty.TB), client.ObjectKey{Name: "widgets." + ty.group}, crd); err != nil {
		return nil
	}
	return crd
}

func (ty *typed) widget(name string) *unstructured.Unstructured {
	return ty.get(ty.group+"/v1", "Widget", name)
}

func (ty *typed) check() []reconciler.Blocker {
	ty.Helper()
	blockers, err := ty.engine.CheckDeletion(ty.Context(), reconciler.DeleteRequest{Owner: ty.owner})
	if err != nil {
		ty.Fatal(err)
	}
	return blockers
}

func TestTypesAndInstances(t *testing.T) {
	t.Parallel()
	ty := newTyped(t)
	manifests := ty.expand(customType + "---" + strings.ReplaceAll(widget, "NAME", "own"))
	ty.settle(manifests, done)
	ty.expectInventory("CustomResourceDefinition widgets."+ty.crdName()+" Ready Current", "Widget own Ready Current")
	if finalizers := ty.definition().GetFinalizers(); len(finalizers) == 0 || finalizers[0] != prefix {
		t.Errorf("expected our finalizer on the definition, got %v", finalizers)
	}
	if blockers := ty.check(); len(blockers) != 0 {
		t.Errorf("own instances do not block, got %v", blockers)
	}

	ty.create(ty.expand(strings.ReplaceAll(widget, "NAME", "foreign")))
	blockers := ty.check()
	if len(blockers) != 1 || blockers[0].Name != "foreign" {
		t.Fatalf("expected the foreign instance to block, got %v", blockers)
	}
	// A direct deletion does not take foreign instances along either.
	testenv.Eventually(t, func() (bool, string) {
		result, err := ty.delete()
		if err != nil {
			return false, err.Error()
		}
		return strings.Contains(notices(result.Waits), "kept while there are instances of its types: Widget."+ty.group+" "+ty.namespace+"/foreign"), notices(result.Waits)
	})
	if ty.widget("foreign") == nil || ty.widget("own") != nil {
		t.Error("expected the own instance to be gone, and the foreign one to be there")
	}
	drain(ty.woken)
	ty.remove(ty.widget("foreign"))
	ty.awaitEvent()
	ty.mustDelete()
	if crd := ty.definition(); crd != nil && crd.GetDeletionTimestamp() == nil {
		t.Error("expected the definition to be gone")
	}
}

func (ty *typed) crdName() string { return strings.ReplaceAll(ty.group, ty.namespace, "NS") }

// TestForgedManagedTypesDestroyNothing has a user record that a definition defines no type, or another one.
func TestForgedManagedTypesDestroyNothing(t *testing.T) {
	t.Parallel()
	for reason, forged := range map[string][]reconciler.TypeVersionInfo{
		"a definition of the component has pruned the field": nil,
		"there are no instances of another type":             {{Group: "storage.k8s.io", Version: "*", Kind: "VolumeAttachment"}},
	} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			ty := newTyped(t)
			ty.settle(ty.expand(customType), done)
			ty.create(ty.expand(strings.ReplaceAll(widget, "NAME", "foreign")))
			forge := func() {
				for _, item := range ty.owner.Inventory {
					item.ManagedTypes = forged
				}
			}
			forge()
			if blockers := ty.check(); len(blockers) != 1 || blockers[0].Name != "foreign" {
				t.Errorf("expected the foreign instance to block, got %v", blockers)
			}
			testenv.Eventually(t, func() (bool, string) {
				forge()
				result, err := ty.delete()
				if err != nil || result.Done {
					t.Fatal("the definition is gone", err)
				}
				return strings.Contains(notices(result.Waits), "kept while there are instances of its types: Widget."+ty.group+" "+ty.namespace+"/foreign"), notices(result.Waits)
			})
			ty.remove(ty.widget("foreign"))
			ty.mustDelete()
		})
	}
}

// TestForgedManagedTypesLeadNowhere has a user record that a definition defines types of others.
func TestForgedManagedTypesLeadNowhere(t *testing.T) {
	t.Parallel()
	ty := newTyped(t)
	ty.settle(ty.expand(customType), done)
	for _, item := range ty.owner.Inventory {
		item.ManagedTypes = append(item.ManagedTypes, reconciler.TypeVersionInfo{Group: "*", Version: "*", Kind: "*"})
	}
	if blockers := ty.check(); len(blockers) > 0 {
		t.Errorf("expected only the type of the definition to be looked at, got %v", blockers)
	}
	ty.mustDelete()
}

// TestBlockersAreBounded has an owner that waits for the instances of all types.
// TestBlockersAreBounded is not parallel: it lists all types of the API server, and TestConversionDown breaks one for a while.
func TestBlockersAreBounded(t *testing.T) { //nolint:paralleltest // see above
	w := newWorld(t)
	w.owner.AdditionalManagedTypes = []reconciler.TypeInfo{{Group: "*", Kind: "*"}}
	check := func() int {
		t.Helper()
		blockers, err := w.engine.CheckDeletion(t.Context(), reconciler.DeleteRequest{Owner: w.owner})
		if err != nil {
			t.Fatal(err)
		}
		return len(blockers)
	}
	if got := check(); got != 10 {
		t.Errorf("expected ten blockers, got %d", got)
	}
	w.owner.AdditionalManagedTypes = nil
	if got := check(); got != 0 {
		t.Errorf("expected no blockers, got %d", got)
	}
}

func TestTypeThatIsRedundantIsKeptForInstances(t *testing.T) {
	t.Parallel()
	ty := newTyped(t)
	manifests := ty.expand(customType)
	ty.settle(manifests, done)
	ty.create(ty.expand(strings.ReplaceAll(widget, "NAME", "foreign")))
	result := ty.once("")
	if !strings.Contains(notices(result.Waits), "kept while there are instances") {
		t.Errorf("expected the definition to be kept, got %q", notices(result.Waits))
	}
	ty.remove(ty.widget("foreign"))
	ty.settle("", done)
}

func drain(events chan string) {
	for {
		select {
		case <-events:
		default:
			return
		}
	}
}

// TestMissingType waits in the wave of an object until another client has defined its type.
func TestMissingType(t *testing.T) {
	t.Parallel()
	ty := newTyped(t)
	w, group := ty.world, ty.group
	widget := "apiVersion: " + group + "/v1\nkind: Widget\nmetadata: {namespace: NS, name: a, annotations: {PREFIX/apply-order: \"1\"ANNOTATION}}\n"
	manifests := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: controller}\n---\n" + strings.ReplaceAll(widget, "ANNOTATION", ", PREFIX/missing-type-policy: wait")
	_, err := w.apply(strings.ReplaceAll(widget, "ANNOTATION", ""))
	w.expectRefusal(err, "Widget."+group+" NS/a: type "+group+"/v1 Widget is unknown to the cluster", "if another controller does, set the annotation PREFIX/missing-type-policy: wait")
	_, err = w.apply("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, annotations: {PREFIX/missing-type-policy: await}}\n")
	w.expectRefusal(err, `annotation PREFIX/missing-type-policy: invalid value "await"; must be one of: refuse, wait`)
	result, err := w.apply(manifests)
	if err != nil || w.configMap("controller") == nil || result.Wave != 1 || !strings.Contains(notices(result.Waits), "its type "+group+"/v1 Widget is not served") || result.RequeueAfter == 0 {
		t.Fatalf("got %+v, %v", result, err)
	}
	w.create(strings.ReplaceAll(customType, "GROUP", group))
	w.settle(manifests, done)
	w.expectInventory("Widget a Ready Current", "ConfigMap controller Ready Current")
	w.mustDelete()
}

// TestWhatServesAKeptTypeStays has a foreign instance keep a type whose controller is to be deleted as well.
func TestWhatServesAKeptTypeStays(t *testing.T) {
	t.Parallel()
	const controller = `
---
apiVersion: v1
kind: ReplicationController
metadata: {name: controller}
spec: {replicas: 0, selector: {a: b}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: main, image: main}]}}}
`
	for name, tc := range map[string]struct {
		reason, metadata string
		end              func(ty *typed) (reconciler.Result, error)
	}{
		"Redundant": {"the type is not wanted any more", "{name: foreign}", func(ty *typed) (reconciler.Result, error) { return ty.apply("") }},
		"Deleted":   {"what CheckDeletion cannot see carries our label", "{name: foreign, labels: {PREFIX/owner-id: OWNER}}", (*typed).deleted},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ty := newTyped(t)
			ty.settle(ty.expand(customType+controller), done)
			foreign := strings.Replace(widget, "{name: NAME}", strings.ReplaceAll(tc.metadata, "OWNER", manifest.OwnerLabel(ty.owner.ID)), 1)
			ty.create(ty.expand(foreign))
			for range 3 {
				result, err := tc.end(ty)
				if err != nil {
					t.Fatal(err)
				}
				if !strings.Contains(notices(result.Waits), "kept while there are instances of its types") {
					t.Fatalf("%s: expected the type to be kept, got %q", tc.reason, notices(result.Waits))
				}
			}
			if ty.get("v1", "ReplicationController", "controller") == nil {
				t.Errorf("%s: the type and the instance are there, and the controller is gone", tc.reason)
			}
			ty.remove(ty.widget("foreign"))
			ty.finish(func() (reconciler.Result, error) { return tc.end(ty) })
		})
	}
}

func (ty *typed) deleted() (reconciler.Result, error) { return ty.delete() }

// TestReleasedTypeIsTakenBack keeps a type with its instances when the owner is deleted, although other dependents go,
// and has the owner created again.
func TestReleasedTypeIsTakenBack(t *testing.T) {
	t.Parallel()
	ty := newTyped(t)
	ty.policies.Adoption = reconciler.AdoptionPolicyNever
	manifests := strings.Replace(ty.expand(customType), "metadata: {", "metadata: {annotations: {"+prefix+"/delete-policy: orphan-on-delete}, ", 1) +
		"---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: goes}\n"
	ty.settle(manifests, done)
	ty.create(ty.expand(strings.ReplaceAll(widget, "NAME", "foreign")))
	if blockers := ty.check(); len(blockers) > 0 {
		t.Errorf("the type and its instances stay, and yet the deletion is blocked: %v", blockers)
	}
	ty.mustDelete()
	if ty.configMap("goes") != nil || ty.definition() == nil || ty.widget("foreign") == nil {
		t.Error("expected that all but the type and its instance are deleted")
	}
	stranger := newWorld(t)
	stranger.policies.Adoption = reconciler.AdoptionPolicyNever
	_, err := stranger.apply(manifests)
	stranger.expectRefusal(err, "already exists and has no owner, but its adoption policy is never")
	if result := ty.mustApply(manifests); !slices.Contains(actions(result), "Adopted CustomResourceDefinition "+ty.definition().GetName()) {
		t.Errorf("what was released was not taken back: %v", actions(result))
	}
	ty.mustDelete()
}

// TestTypeThatAnotherOwnerHasAdopted has a new operator adopt the definition before the former owner is deleted.
func TestTypeThatAnotherOwnerHasAdopted(t *testing.T) {
	t.Parallel()
	ty := newTyped(t)
	ty.settle(ty.expand(customType), done)
	successor := newWorld(t, func(s *setup) { s.name = "successor.example.io" })
	successor.mustApply(strings.Replace(ty.expand(customType), "metadata: {", "metadata: {annotations: {successor.example.io/adoption-policy: always}, ", 1))
	ty.create(ty.expand(strings.ReplaceAll(widget, "NAME", "foreign")))
	if blockers := ty.check(); len(blockers) > 0 {
		t.Errorf("the deletion waits for instances of a type of another owner: %v", blockers)
	}
	ty.mustDelete()
	crd := ty.definition()
	if crd == nil || crd.GetDeletionTimestamp() != nil || slices.Contains(crd.GetFinalizers(), prefix) || !slices.Contains(crd.GetFinalizers(), "successor.example.io") {
		t.Fatalf("expected the definition of the successor without our finalizer, got %v", crd)
	}
	if ty.widget("foreign") == nil {
		t.Error("the instance is gone")
	}
	ty.remove(ty.widget("foreign"))
	successor.finish(successor.delete)
}

// TestOwnInstanceWithoutLabelDoesNotBlock has others remove our label from a dependent right before the deletion.
func TestOwnInstanceWithoutLabelDoesNotBlock(t *testing.T) {
	t.Parallel()
	ty := newTyped(t)
	ty.settle(ty.expand(customType+"---"+strings.ReplaceAll(widget, "NAME", "own")), done)
	ty.patch(ty.widget("own"), `{"metadata":{"labels":{"PREFIX/owner-id":null}}}`)
	if blockers := ty.check(); len(blockers) > 0 {
		t.Errorf("a dependent forbids the deletion: %v", blockers)
	}
	// A user forges a record in which a foreign instance is a dependent, too.
	ty.create(ty.expand(strings.ReplaceAll(widget, "NAME", "zz-foreign")))
	for _, item := range ty.owner.Inventory {
		if item.Kind == "Widget" {
			forged := item.DeepCopy()
			forged.Name, forged.UID = "zz-foreign", ty.widget("zz-foreign").GetUID()
			ty.owner.Inventory = append(ty.owner.Inventory, forged)
		}
	}
	if blockers := ty.check(); len(blockers) != 1 || blockers[0].Name != "zz-foreign" {
		t.Errorf("expected the foreign instance to block, got %v", blockers)
	}
	ty.remove(ty.widget("zz-foreign"))
	ty.mustDelete()
}

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
			ty.settle(before+instance, done)
			// Nothing may be left that the new definition would destroy.
			ty.settle(before, done)
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

// TestStalledDeletionOfDefinitionIsRetried has the status that the API server leaves when it loses the retry after a
// failure, which cannot be provoked. A finalizer of the test stands for that of the API server.
func TestStalledDeletionOfDefinitionIsRetried(t *testing.T) {
	t.Parallel()
	for _, isOurs := range []bool{true, false} {
		t.Run(fmt.Sprint(isOurs), func(t *testing.T) {
			t.Parallel()
			now := clocktesting.NewFakePassiveClock(time.Now())
			ty := newStalled(t, now)
			pass := ty.delete
			if !isOurs {
				owner := ty.owner
				owner.ID, owner.Inventory = "other", nil
				pass = func() (reconciler.Result, error) {
					return ty.engine.Apply(t.Context(), reconciler.ApplyRequest{Owner: owner, Objects: objects(ty.world, ty.expand(customType))})
				}
			}
			ty.until(pass, "waiting for finalizers: example.com/stalled")
			ty.quiesce()
			expect := func(reason string, wait time.Duration, retried bool) {
				t.Helper()
				result, err := pass()
				at := ty.definition().GetAnnotations()[prefix+"/deletion-retried-at"]
				if err != nil || isOurs && result.RequeueAfter != wait || (at != "") != (retried && isOurs) {
					t.Errorf("%s: the next pass comes in %s, error: %v, retried at %q", reason, result.RequeueAfter, err, at)
				}
			}
			expect("a deletion that has not failed is not retried", 0, false)
			ty.fail()
			ty.until(pass, "could not list instances: storage is (re)initializing")
			expect("the API server has a second to retry by itself", time.Second, false)
			now.SetTime(now.Now().Add(time.Second))
			expect("a retry, and twice the interval", 2*time.Second, true)
			version := ty.definition().GetResourceVersion()
			if _, err := pass(); err != nil || ty.definition().GetResourceVersion() != version {
				t.Errorf("want no other retry within the interval, error: %v", err)
			}
		})
	}
}

// newStalled has a definition that others have deleted, and for which the API server has done what it does.
func newStalled(t *testing.T, now *clocktesting.FakePassiveClock) *typed {
	t.Helper()
	ty := newTyped(t, withOptions(func(o *reconciler.Options) { o.Clock = now }))
	ty.defined(ty.expand(customType))
	definition := ty.definition()
	definition.SetFinalizers(append(definition.GetFinalizers(), "example.com/stalled"))
	if err := ty.client.Update(context(t), definition); err != nil {
		t.Fatal(err)
	}
	ty.remove(definition)
	ty.awaitChange()
	testenv.Eventually(t, func() (bool, string) {
		finalizers := ty.definition().GetFinalizers()
		return !slices.Contains(finalizers, "customresourcecleanup.apiextensions.k8s.io"), strings.Join(finalizers, " ")
	})
	return ty
}

// fail sets the status that the API server sets when it cannot delete the instances.
func (ty *typed) fail() {
	ty.Helper()
	definition := ty.definition()
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"status":{"conditions":[{"type":"Terminating","status":"True","reason":"InstanceDeletionFailed",`+
		`"message":"could not list instances: storage is (re)initializing","lastTransitionTime":"2026-01-01T00:00:00Z"}]}}`))
	if err := ty.client.Status().Patch(context(ty.TB), definition, patch); err != nil {
		ty.Fatal(err)
	}
	ty.noteChange(definition, false)
}
