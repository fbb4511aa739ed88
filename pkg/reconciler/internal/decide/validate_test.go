// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/prepare"
	"github.com/component-operator/runtime/pkg/types"
)

var (
	crdKind       = schema.GroupVersionKind{Group: prepare.GroupCRD, Version: "v1", Kind: "CustomResourceDefinition"}
	namespaceKind = schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}
)

func TestValidatePlan(t *testing.T) {
	t.Parallel()
	orders := func(apply, remove int) func(*prepare.Object) {
		return func(t *prepare.Object) { t.ApplyOrder, t.DeleteOrder = apply, remove }
	}
	purge := func(t *prepare.Object) { order := 3; t.PurgeOrder = &order }
	instance := func(t *prepare.Object) { t.Instance = true }
	widget := named("example.com/v1", "Widget", "ns", "w")
	crd := func(phase inventory.Phase, apply, remove int) *inventory.Item {
		return item(crdKind, "", "widgets", func(i *inventory.Item) {
			i.Phase, i.ApplyOrder, i.DeleteOrder = phase, apply, remove
			i.ManagedTypes = []inventory.TypeVersionInfo{{Group: "example.com", Version: "*", Kind: "Widget"}}
		})
	}
	namespace := func(phase inventory.Phase, apply, remove int) *inventory.Item {
		return item(namespaceKind, "", "ns", func(i *inventory.Item) { i.Phase, i.ApplyOrder, i.DeleteOrder = phase, apply, remove })
	}
	released := func(i *inventory.Item) *inventory.Item { i.DeletePolicy = inventory.DeletePolicyOrphan; return i }
	additional := []inventory.TypeInfo{{Group: "example.com", Kind: "Widget"}}
	for _, tc := range []struct {
		reason     string
		wanted     *prepare.Object
		items      []*inventory.Item
		additional []inventory.TypeInfo
		want       []string
	}{
		{"an ordinary object", desired(orders(-5, 9)), nil, nil, nil},
		{"may be purged", desired(purge), nil, nil, nil},
		{"a namespace may not be purged", desired(named("v1", "Namespace", "", "ns"), purge), nil, nil, []string{"Namespace ns: a purge order"}},
		{"a definition may not be purged", desired(named("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "x"), purge), nil, nil, []string{"a purge order"}},
		{"an APIService may not be purged", desired(named("apiregistration.k8s.io/v1", "APIService", "", "x"), purge), nil, nil, []string{"a purge order"}},
		{"a namespace may not be a hook", desired(named("v1", "Namespace", "", "ns"), func(t *prepare.Object) { t.Hook = types.ApplyHookOnFailure }), nil, nil, []string{"Namespace ns: apply-hook is not allowed"}},
		{"the content of a namespace goes with it", desired(named("v1", "Namespace", "", "ns"), func(t *prepare.Object) { t.DeletePropagation = metav1.DeletePropagationOrphan }), nil, nil, []string{"Namespace ns: delete propagation orphan is not allowed"}},
		{"what stays would go with its namespace", desired(named("v1", "ConfigMap", "ns", "a"), func(t *prepare.Object) { t.Delete = inventory.DeletePolicyOrphan }), []*inventory.Item{namespace(inventory.PhaseReady, 0, 0)}, nil, []string{"ConfigMap ns/a: delete policy orphan is not allowed; the object would be deleted with Namespace ns"}},
		{"in the same wave as its type", desired(widget, instance, orders(2, 2)), []*inventory.Item{crd(inventory.PhaseReady, 2, 2)}, nil, nil},
		{"after, and before", desired(widget, instance, orders(3, 1)), []*inventory.Item{crd(inventory.PhaseReady, 2, 2)}, nil, nil},
		{"before its type", desired(widget, instance, orders(1, 2)), []*inventory.Item{crd(inventory.PhaseReady, 2, 2)}, nil, []string{"Widget.example.com ns/w: apply order 1 is not allowed; it must be at least that of CustomResourceDefinition widgets (2), which defines its type"}},
		{"after its type is gone", desired(widget, instance, orders(2, 3)), []*inventory.Item{crd(inventory.PhaseReady, 2, 2)}, nil, []string{"delete order 3 is not allowed; it must be at most that of CustomResourceDefinition widgets (2)"}},
		{"both are reported", desired(widget, instance, orders(1, 3)), []*inventory.Item{crd(inventory.PhaseReady, 2, 2)}, nil, []string{"apply order 1", "delete order 3"}},
		{"the type goes", desired(widget, instance), []*inventory.Item{crd(inventory.PhaseScheduledForDeletion, 0, 0)}, nil, []string{"cannot be kept, because CustomResourceDefinition widgets, which defines its type, will be deleted"}},
		{"the type is going", desired(widget, instance), []*inventory.Item{crd(inventory.PhaseDeleting, 0, 0)}, nil, []string{"cannot be kept"}},
		{"the type is only orphaned", desired(widget, orders(-9, 9)), []*inventory.Item{released(crd(inventory.PhaseScheduledForDeletion, 0, 0))}, nil, nil},
		{"the namespace is only orphaned", desired(named("v1", "ConfigMap", "ns", "a")), []*inventory.Item{released(namespace(inventory.PhaseScheduledForDeletion, 0, 0))}, nil, nil},
		{"the type is being deleted, and orphaning comes too late", desired(widget), []*inventory.Item{released(crd(inventory.PhaseDeleting, 0, 0))}, nil, []string{"cannot be kept"}},
		{"additional types have no definition here", desired(widget, instance, orders(-9, 9)), nil, additional, nil},
		{"in the same wave as its namespace", desired(orders(2, 2), named("v1", "ConfigMap", "ns", "a")), []*inventory.Item{namespace(inventory.PhaseReady, 2, 2)}, nil, nil},
		{"before its namespace", desired(orders(1, 2), named("v1", "ConfigMap", "ns", "a")), []*inventory.Item{namespace(inventory.PhaseReady, 2, 2)}, nil, []string{"ConfigMap ns/a: apply order 1 is not allowed; it must be at least that of Namespace ns (2), which contains it"}},
		{"after its namespace is gone", desired(orders(2, 3), named("v1", "ConfigMap", "ns", "a")), []*inventory.Item{namespace(inventory.PhaseReady, 2, 2)}, nil, []string{"delete order 3"}},
		{"the namespace goes", desired(named("v1", "ConfigMap", "ns", "a")), []*inventory.Item{namespace(inventory.PhaseScheduledForDeletion, 0, 0)}, nil, []string{"cannot be kept, because Namespace ns, which contains it, will be deleted"}},
		{"another namespace", desired(orders(-9, 9), named("v1", "ConfigMap", "other", "a")), []*inventory.Item{namespace(inventory.PhaseReady, 2, 2)}, nil, nil},
		{"no namespace", desired(orders(-9, 9), named("v1", "Node", "", "ns")), []*inventory.Item{namespace(inventory.PhaseReady, 2, 2)}, nil, nil},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			t.Parallel()
			err := Validate([]*prepare.Object{tc.wanted}, tc.items, tc.additional)
			if (err != nil) != (len(tc.want) > 0) {
				t.Fatalf("got %v, want %q", err, tc.want)
			}
			for _, want := range tc.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("expected %q in %q", want, err)
				}
			}
		})
	}
}

// TestTypeMustNotGoBeforeItsInstances has a definition be recorded that is not among the objects.
func TestTypeMustNotGoBeforeItsInstances(t *testing.T) {
	t.Parallel()
	recorded := []*inventory.Item{item(crdKind, "", "widgets", func(i *inventory.Item) {
		i.Phase, i.Digest, i.ManagedTypes = inventory.PhaseReady, "2:x", []inventory.TypeVersionInfo{{Group: "example.com", Version: "*", Kind: "Widget"}}
	})}
	wanted := []*prepare.Object{desired(named("example.com/v1", "Widget", "ns", "w"))}
	err := Validate(wanted, Next(wanted, nil, recorded, inventory.PrunePolicyDelete).Items, nil)
	if err == nil || !strings.Contains(err.Error(), "Widget.example.com ns/w: cannot be kept") {
		t.Errorf("expected a refusal that names the instance, got %v", err)
	}
}
