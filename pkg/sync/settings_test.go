// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package sync_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/sync"
)

// namespaceObject returns a namespace as it exists; nil if it does not.
func (w *world) namespaceObject() *unstructured.Unstructured {
	w.Helper()
	object := &unstructured.Unstructured{}
	object.SetAPIVersion("v1")
	object.SetKind("Namespace")
	err := w.client.Get(w.Context(), client.ObjectKey{Name: w.namespace}, object)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		w.Fatal(err)
	}
	return object
}

// TestNamespaceModifier creates the namespace of the operation, and changes it if that is wanted.
func TestNamespaceModifier(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.namespace = testenv.UniqueName(t)
	manifests := configMap("a") + job("migrate", hookAnnotation, "PreSync")
	w.fails(w.begin("one", manifests), "namespace "+w.namespace)
	if w.namespaceObject() != nil {
		t.Fatal("the namespace exists")
	}
	results := w.fails(w.begin("one", manifests, sync.WithNamespaceModifier(func(managed, live *unstructured.Unstructured) (bool, error) {
		return false, errors.New("no namespaces today")
	})), "Namespace "+w.namespace+": no namespaces today")
	w.expect([]string{"PreSync Namespace " + w.namespace + ": SyncFailed Failed: no namespaces today"}, results)

	labelled := func(value string, apply bool) sync.SyncOpt {
		return sync.WithNamespaceModifier(func(managed, live *unstructured.Unstructured) (bool, error) {
			if (live == nil) != (value == "first") {
				t.Errorf("with value %s, the live namespace is %v", value, live)
			}
			managed.SetLabels(map[string]string{"example.com/label": value})
			return apply, nil
		})
	}
	w.expect([]string{
		"PreSync Namespace " + w.namespace + ": Synced Succeeded: created", "PreSync hook Job migrate: Synced Succeeded: created", "Sync ConfigMap a: Synced Succeeded: created",
	}, w.succeeds(w.begin("one", manifests, labelled("first", true))))
	for _, tc := range []struct {
		value string
		apply bool
		want  string
	}{{"second", false, "first"}, {"third", true, "third"}} {
		w.succeeds(w.begin("two", configMap("a"), labelled(tc.value, tc.apply)))
		if got := w.namespaceObject().GetLabels()["example.com/label"]; got != tc.want {
			t.Errorf("the label is %q, want %q", got, tc.want)
		}
	}
	if err := w.client.Delete(t.Context(), w.namespaceObject()); err != nil {
		t.Fatal(err)
	}
}

// TestForce recreates objects that cannot be updated, if the operation or the object says so, or the live object alone.
func TestForce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	before, after := job("a"), strings.Replace(job("a"), "example.com/none", "example.com/other", 1)
	w.succeeds(w.begin("one", before))
	w.fails(w.begin("two", after), "immutable")
	w.expect([]string{"Sync Job a: Synced Succeeded: updated"}, w.succeeds(w.begin("three", after, sync.WithOperationSettings(false, false, true, false))))
	w.succeeds(w.begin("four", strings.Replace(before, "annotations: {", "annotations: {"+optionsAnnotation+": Force=true", 1)))
	w.succeeds(w.begin("five", after))
	w.fails(w.begin("six", before), "immutable")
}

// TestReplace removes fields of others, if the operation or the object says so, or the live object alone, and the
// object does not say the opposite.
func TestReplace(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.succeeds(w.begin("one", configMap("a")+configMap("b")+configMap("c")+configMap("d")))
	key := func(name string) sync.ResourceKey { return sync.NewResourceKey("", "ConfigMap", w.namespace, name) }
	foreign := func(name string) bool {
		data, _, _ := unstructured.NestedMap(w.live()[key(name)].Object, "data")
		return data["foreign"] != nil
	}
	for name, options := range map[string]string{"a": "Replace=maybe", "b": "", "c": "Replace=true", "d": "Replace=true"} {
		object := w.live()[key(name)]
		patch := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"data":{"foreign":"x"},"metadata":{"annotations":{%q:%q}}}`, optionsAnnotation, options))
		if err := w.client.Patch(t.Context(), object, patch, client.FieldOwner("somebody")); err != nil {
			t.Fatal(err)
		}
	}
	changed := configMap("a") + configMap("b", optionsAnnotation, "Replace=true") + configMap("c") + configMap("d", optionsAnnotation, "Replace=false")
	w.succeeds(w.begin("two", strings.ReplaceAll(changed, "k: v", "k: w")))
	for name, want := range map[string]bool{"a": true, "b": false, "c": false, "d": true} {
		if got := foreign(name); got != want {
			t.Errorf("ConfigMap %s has the field of another manager: %t", name, got)
		}
	}
	w.succeeds(w.begin("three", strings.ReplaceAll(configMap("a"), "k: v", "k: x"), sync.WithReplace(true)))
	if foreign("a") {
		t.Error("the field of another manager is still there")
	}
}

// TestManagerAndPropagation check what is written.
func TestManagerAndPropagation(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	config, requests := testenv.CountingConfig(t)
	w.succeeds(w.beginWith(config, "one", configMap("a"), sync.WithServerSideApplyManager("gardener")))
	for _, entry := range w.live()[sync.NewResourceKey("", "ConfigMap", w.namespace, "a")].GetManagedFields() {
		if entry.Manager != "gardener" {
			t.Errorf("manager %s", entry.Manager)
		}
	}
	orphan := metav1.DeletePropagationOrphan
	for _, policy := range []*metav1.DeletionPropagation{nil, &orphan} {
		w.succeeds(w.begin("two", job("work")))
		w.succeeds(w.beginWith(config, "three", configMap("a"), sync.WithPrune(true), sync.WithPruneLast(true), sync.WithPrunePropagationPolicy(policy)))
		pods := slices.DeleteFunc(w.exists(), func(name string) bool { return !strings.HasPrefix(name, "Pod ") })
		if len(pods) != 0 {
			t.Errorf("pods %v have the label of the application", pods)
		}
	}
	if requests.Len() == 0 {
		t.Error("no request was made")
	}
}

// TestBadArguments are refused with what is allowed.
func TestBadArguments(t *testing.T) {
	t.Parallel()
	object := &unstructured.Unstructured{}
	for text, call := range map[string]func() error{
		"restConfig: must not be nil": func() error {
			_, _, err := sync.NewSyncContext("one", sync.ReconciliationResult{}, nil, "default")
			return err
		},
		"namespace: must not be empty without the option WithOwner": func() error {
			_, _, err := sync.NewSyncContext("one", sync.ReconciliationResult{}, &rest.Config{}, "")
			return err
		},
		"reconciliationResult: Target has 1 objects, and Live 0; they must have the same number": func() error {
			_, _, err := sync.NewSyncContext("one", sync.ReconciliationResult{Target: []*unstructured.Unstructured{object}}, &rest.Config{}, "default")
			return err
		},
	} {
		if err := call(); err == nil || err.Error() != text {
			t.Errorf("want %q, got %v", text, err)
		}
	}
}
