// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package sync

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/component-operator/runtime/internal/gitops"
	"github.com/component-operator/runtime/pkg/inventory"
)

func live(name string, annotations ...string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Pod"}}
	object.SetNamespace("n")
	object.SetName(name)
	all := map[string]string{}
	for i := 0; i+1 < len(annotations); i += 2 {
		all[annotations[i]] = annotations[i+1]
	}
	object.SetAnnotations(all)
	return object
}

// TestOrder mirrors the waves.
func TestOrder(t *testing.T) {
	t.Parallel()
	const last = gitops.SyncOptionsAnnotation
	for _, tc := range []struct {
		reason string
		waves  []int
		pruned []string // the names of those that are pruned last, besides their waves
		all    bool
		want   []int
	}{
		{"one wave", []int{0, 0}, nil, false, []int{0, 0}},
		{"another one", []int{3}, nil, false, []int{3}},
		{"ascending", []int{0, 1, 2, 3, 4}, nil, false, []int{4, 3, 2, 1, 0}},
		{"gaps", []int{1, 3, 4}, nil, false, []int{4, 3, 1}},
		{"negative", []int{-5, 0, 7}, nil, false, []int{7, 0, -5}},
		{"several of one wave", []int{1, 1, 2, 2, 5}, nil, false, []int{5, 5, 2, 2, 1}},
		{"only negative ones", []int{-3, -1}, nil, false, []int{-1, -3}},
		{"all last, in reverse order", []int{0, 2, -2}, nil, true, []int{20000, 19998, 20002}},
		{"one last", []int{1, 2, 3}, []string{"p2"}, false, []int{3, 19998, 1}},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			t.Parallel()
			var objects []*unstructured.Unstructured
			for i, wave := range tc.waves {
				name := fmt.Sprintf("p%d", i+1)
				object := live(name, gitops.SyncWaveAnnotation, fmt.Sprint(wave))
				if slices.Contains(tc.pruned, name) {
					object = live(name, gitops.SyncWaveAnnotation, fmt.Sprint(wave), last, "PruneLast=true")
				}
				objects = append(objects, object)
			}
			var got []int
			for _, item := range itemsToPrune(objects, nil, pruneOptions{Last: tc.all}) {
				got = append(got, item.DeleteOrder)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestRecorded combines what is recorded with what exists.
func TestRecorded(t *testing.T) {
	t.Parallel()
	item := func(name string, order int) *inventory.Item {
		return &inventory.Item{
			TypeVersionInfo: inventory.TypeVersionInfo{Version: "v1", Kind: "Pod"}, NameInfo: inventory.NameInfo{Namespace: "n", Name: name}, ApplyOrder: order,
			Phase: inventory.PhaseReady, Digest: "recorded",
		}
	}
	definition, metadata := item("pods", 0), live("pods", gitops.SyncWaveAnnotation, "5")
	definition.Group, definition.Version, definition.Kind, definition.Namespace = "apiextensions.k8s.io", "v1", "CustomResourceDefinition", ""
	definition.ManagedTypes = []inventory.TypeVersionInfo{{Kind: "Pod", Version: "*"}}
	metadata.SetGroupVersionKind(schema.GroupVersionKind(definition.TypeVersionInfo))
	metadata.SetNamespace("")
	recorded := []*inventory.Item{item("a", 1), item("b", -20000), item("hook", 100003), definition}
	var got []string
	for _, item := range itemsToPrune([]*unstructured.Unstructured{live("a", gitops.SyncWaveAnnotation, "5"), live("c"), metadata}, recorded, pruneOptions{}) {
		got = append(got, fmt.Sprintf("%s %s %d", item.Name, item.Digest, item.DeleteOrder))
	}
	// What cannot be read from the definition is recorded: it goes no earlier than its instances.
	if diff := cmp.Diff([]string{"a recorded 0", "b recorded 5", "c live 5", "hook recorded 3", "pods recorded 5"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if recorded[0].DeleteOrder != 0 || recorded[0].DeletePropagation != "" {
		t.Error("a recorded item has changed")
	}
}

// TestOptions reads what a live object says.
func TestOptions(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		reason      string
		annotations []string
		options     pruneOptions
		prune       inventory.PrunePolicy
		propagation metav1.DeletionPropagation
	}{
		{"nothing", nil, pruneOptions{}, inventory.PrunePolicyDelete, metav1.DeletePropagationForeground},
		{"the operation", nil, pruneOptions{Propagation: metav1.DeletePropagationBackground}, inventory.PrunePolicyDelete, metav1.DeletePropagationBackground},
		{"kept", []string{gitops.SyncOptionsAnnotation, "Prune=false"}, pruneOptions{}, inventory.PrunePolicyKeep, metav1.DeletePropagationForeground},
		{"pruned", []string{gitops.SyncOptionsAnnotation, "Prune=true"}, pruneOptions{}, inventory.PrunePolicyDelete, metav1.DeletePropagationForeground},
		{"confirmed", []string{gitops.SyncOptionsAnnotation, "Prune=confirm"}, pruneOptions{}, inventory.PrunePolicyConfirm, metav1.DeletePropagationForeground},
		{"kept by Helm", []string{"helm.sh/resource-policy", "keep"}, pruneOptions{}, inventory.PrunePolicyKeep, metav1.DeletePropagationForeground},
		{
			"propagation",
			[]string{gitops.SyncOptionsAnnotation, "PrunePropagationPolicy=orphan"},
			pruneOptions{Propagation: metav1.DeletePropagationBackground},
			inventory.PrunePolicyDelete, metav1.DeletePropagationOrphan,
		},
		{"what cannot be read", []string{gitops.SyncOptionsAnnotation, "Prune=perhaps"}, pruneOptions{}, inventory.PrunePolicyKeep, metav1.DeletePropagationForeground},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			t.Parallel()
			items := itemsToPrune([]*unstructured.Unstructured{live("a", tc.annotations...)}, nil, tc.options)
			if len(items) != 1 || items[0].PrunePolicy != tc.prune || items[0].DeletePropagation != tc.propagation {
				t.Errorf("got %v", strings.TrimSpace(fmt.Sprintf("%+v", items[0])))
			}
		})
	}
}
