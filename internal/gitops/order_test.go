// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/component-operator/runtime/pkg/types"
)

// TestApplyOrder: each wave of PreSync comes before each one of Sync, and all are valid apply orders.
func TestApplyOrder(t *testing.T) {
	t.Parallel()
	const firstOfHelm = -201
	if first, last := ApplyOrder(PreSync, -MaxWave), ApplyOrder(PreSync, MaxWave); first < types.MinOrder || last >= ApplyOrder(Sync, -MaxWave) || last >= firstOfHelm || first >= last {
		t.Errorf("PreSync has the orders %d to %d", first, last)
	}
	if got := ApplyOrder(Sync, MaxWave); got != MaxWave || got > types.MaxOrder {
		t.Errorf("the last wave has the order %d", got)
	}
	for _, phase := range []Phase{PostSync, SyncFail, PreDelete, PostDelete} {
		if got := ApplyOrder(phase, 5); got != 5 {
			t.Errorf("wave 5 of %s has the order %d", phase, got)
		}
	}
}

// TestLift has the cases of Argo CD's own tests of Namespaces and definitions that come too late.
func TestLift(t *testing.T) {
	t.Parallel()
	crd, cron := schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}, schema.GroupKind{Group: "stable.example.com", Kind: "CronTab"}
	place := func(order int, kind schema.GroupKind, namespace, name string) Placed {
		return Placed{ObjectID: types.ObjectID{GroupKind: kind, Namespace: namespace, Name: name}, Order: order}
	}
	pod := func(order int, namespace string) Placed {
		return place(order, schema.GroupKind{Kind: "Pod"}, namespace, "pod")
	}
	namespace := func(order int, name string) Placed { return place(order, namespaces, "", name) }
	defining := func(order int, kind schema.GroupKind) Placed {
		placed := place(order, crd, "", kind.String())
		placed.Defines = kind
		return placed
	}
	for _, tc := range []struct {
		reason  string
		objects []Placed
		want    []int
	}{
		{"a namespace that comes first stays", []Placed{namespace(-1, "a"), pod(0, "a")}, []int{-1, 0}},
		{"one that comes too late", []Placed{pod(0, "a"), namespace(1, "a")}, []int{0, 0}},
		{"each for itself, also before hooks", []Placed{namespace(1, "a"), namespace(2, "b"), pod(-20000, "a"), pod(0, "b")}, []int{-20000, 0, -20000, 0}},
		{"the first object counts", []Placed{pod(3, "a"), pod(1, "a"), namespace(5, "a")}, []int{3, 1, 1}},
		{"a definition", []Placed{defining(1, cron), place(-20000, cron, "a", "tab")}, []int{-20000, -20000}},
		{"another group's Namespace is no namespace", []Placed{place(1, schema.GroupKind{Group: "example.com", Kind: "Namespace"}, "", "a"), pod(0, "a")}, []int{1, 0}},
		{"a namespace by itself is no content of it", []Placed{namespace(1, "a"), place(0, cron, "", "a")}, []int{1, 0}},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			t.Parallel()
			Lift(tc.objects)
			got := make([]int, len(tc.objects))
			for i, object := range tc.objects {
				got[i] = object.Order
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("orders (-want +got):\n%s", diff)
			}
		})
	}
}
