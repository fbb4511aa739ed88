// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/reconciler"
)

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
	ty.settle(manifests, func(result reconciler.Result) (bool, string) { return result.Done, notices(result.Waits) })
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

func TestReleasedOwnersAreNotBlocked(t *testing.T) {
	t.Parallel()
	ty := newTyped(t)
	manifests := ty.expand(strings.Replace(customType, "{name: widgets.GROUP}", "{name: widgets.GROUP, annotations: {PREFIX/delete-policy: orphan-on-delete}}", 1))
	ty.settle(manifests, func(result reconciler.Result) (bool, string) { return result.Done, notices(result.Waits) })
	ty.create(ty.expand(strings.ReplaceAll(widget, "NAME", "foreign")))
	if blockers := ty.check(); len(blockers) != 0 {
		t.Errorf("if everything stays, nothing blocks, got %v", blockers)
	}
	ty.owner.AdditionalManagedTypes = []reconciler.TypeInfo{{Group: "*." + strings.TrimPrefix(ty.group, "group."), Kind: "Widget"}}
	if blockers := ty.check(); len(blockers) != 1 {
		t.Errorf("instances of additional types always block, got %v", blockers)
	}
	ty.owner.AdditionalManagedTypes = []reconciler.TypeInfo{{Group: ty.group, Kind: "*"}}
	if blockers := ty.check(); len(blockers) != 1 {
		t.Errorf("instances of additional types always block, got %v", blockers)
	}
	ty.owner.AdditionalManagedTypes = nil
	ty.mustDelete()
	crd := ty.definition()
	if crd == nil || crd.GetDeletionTimestamp() != nil || strings.Contains(strings.Join(crd.GetFinalizers(), ","), prefix) {
		t.Error("expected the definition to stay, without our finalizer")
	}
	if ty.widget("foreign") == nil {
		t.Error("expected the instance to stay")
	}
}

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
			ty.settle(ty.expand(customType), func(result reconciler.Result) (bool, string) { return result.Done, notices(result.Waits) })
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
	ty.settle(ty.expand(customType), func(result reconciler.Result) (bool, string) { return result.Done, notices(result.Waits) })
	for _, item := range ty.owner.Inventory {
		item.ManagedTypes = append(item.ManagedTypes, reconciler.TypeVersionInfo{Group: "*", Version: "*", Kind: "*"})
	}
	if blockers := ty.check(); len(blockers) > 0 {
		t.Errorf("expected only the type of the definition to be looked at, got %v", blockers)
	}
	ty.mustDelete()
}

// TestBlockersAreBounded has an owner that waits for the instances of all types.
func TestBlockersAreBounded(t *testing.T) {
	t.Parallel()
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

func TestTypeWithoutServedVersion(t *testing.T) {
	t.Parallel()
	ty := newTyped(t)
	manifests := ty.expand(customType)
	ty.settle(manifests, func(result reconciler.Result) (bool, string) { return result.Done, notices(result.Waits) })
	unserved := strings.Replace(manifests, "served: true", "served: false", 1)
	ty.settle(unserved, func(result reconciler.Result) (bool, string) { return result.Done, notices(result.Waits) })
	testenv.Eventually(t, func() (bool, string) {
		_, err := ty.engine.CheckDeletion(t.Context(), reconciler.DeleteRequest{Owner: ty.owner})
		return err != nil && strings.Contains(err.Error(), "serves no version"), "the type is still served"
	})
}

func TestTypeThatIsRedundantIsKeptForInstances(t *testing.T) {
	t.Parallel()
	ty := newTyped(t)
	manifests := ty.expand(customType)
	ty.settle(manifests, func(result reconciler.Result) (bool, string) { return result.Done, notices(result.Waits) })
	ty.create(ty.expand(strings.ReplaceAll(widget, "NAME", "foreign")))
	result, err := ty.apply("")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(notices(result.Waits), "kept while there are instances") {
		t.Errorf("expected the definition to be kept, got %q", notices(result.Waits))
	}
	ty.remove(ty.widget("foreign"))
	ty.settle("", func(result reconciler.Result) (bool, string) { return result.Done, notices(result.Waits) })
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
	w.settle(manifests, func(result reconciler.Result) (bool, string) { return result.Done, notices(result.Waits) })
	w.expectInventory("Widget a Ready Current", "ConfigMap controller Ready Current")
	w.mustDelete()
}
