// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"strings"
	"testing"

	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/reconciler"
)

const ordered = `
apiVersion: v1
kind: ConfigMap
metadata: {name: early, annotations: {PREFIX/delete-order: "-1"}, finalizers: [example.com/hold]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: late}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: middle}
`

func TestDeletionWavesWaitUntilGone(t *testing.T) {
	t.Parallel()
	for _, redundant := range []bool{false, true} {
		name := "WithOwner"
		if redundant {
			name = "Redundant"
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			step := w.delete
			if redundant {
				step = func() (reconciler.Result, error) { return w.apply("") }
			}
			w.mustApply(ordered)
			result, err := step()
			if err != nil {
				t.Fatal(err)
			}
			if got := notices(result.Waits); !strings.Contains(got, "ConfigMap early: being deleted: ") || !strings.Contains(got, "example.com/hold") {
				t.Errorf("expected to learn what holds the object, got %q", got)
			}
			if result.Wave != -1 {
				t.Errorf("expected to be in wave -1, got %d", result.Wave)
			}
			w.expectInventory("ConfigMap early Deleting Terminating", "ServiceAccount middle ScheduledForDeletion Terminating", "ConfigMap late ScheduledForDeletion Terminating")
			drain(w.woken)
			w.patch(w.configMap("early"), `{"metadata":{"finalizers":null}}`)
			w.awaitEvent()
			testenv.Eventually(t, func() (bool, string) {
				result, err = step()
				return err == nil && result.Done, notices(result.Waits)
			})
			w.expectInventory()
			if w.configMap("late") != nil {
				t.Error("expected everything to be gone")
			}
		})
	}
}

func TestWantedAgainWhileBeingDeleted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.mustApply(ordered)
	before := w.configMap("early").GetUID()
	if _, err := w.apply(""); err != nil {
		t.Fatal(err)
	}
	result, err := w.apply(ordered)
	if err != nil {
		t.Fatal(err)
	}
	if got := notices(result.Waits); !strings.Contains(got, "ConfigMap early: being deleted") {
		t.Errorf("expected to wait for the end of the deletion, got %q", got)
	}
	w.patch(w.configMap("early"), `{"metadata":{"finalizers":null}}`)
	w.settle(ordered, func(result reconciler.Result) (bool, string) { return result.Done, notices(result.Waits) })
	if after := w.configMap("early"); after == nil || after.GetUID() == before {
		t.Error("expected a new object")
	}
	w.patch(w.configMap("early"), `{"metadata":{"finalizers":null}}`)
}

func TestNamespaceGoesAfterItsContent(t *testing.T) {
	t.Parallel()
	const manifests = `
apiVersion: v1
kind: Namespace
metadata: {name: NS-own}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: in, namespace: NS-own, finalizers: [example.com/hold]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: out}
`
	w := newWorld(t)
	w.settle(manifests, func(result reconciler.Result) (bool, string) { return result.Done, notices(result.Waits) })
	if _, err := w.delete(); err != nil {
		t.Fatal(err)
	}
	if namespace := w.get("v1", "Namespace", "NS-own"); namespace == nil || namespace.GetDeletionTimestamp() != nil {
		t.Error("the namespace must stay until it is empty")
	}
	w.expectInventory("ConfigMap in Deleting Terminating", "Namespace NS-own ScheduledForDeletion Terminating")
	held := w.configMap("in")
	if held != nil {
		t.Fatal("the object is expected in the other namespace")
	}
	w.patch(testenv.Objects(t, w.expand("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: in, namespace: NS-own}\n"))[0], `{"metadata":{"finalizers":null}}`)
	w.mustDelete()
}

func TestDeletionRefusesObjectsRecreatedWithOurMark(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.mustApply(ordered)
	if _, err := w.delete(); err != nil {
		t.Fatal(err)
	}
	again := w.configMap("early").DeepCopy()
	w.patch(w.configMap("early"), `{"metadata":{"finalizers":null}}`)
	again.SetUID("")
	again.SetResourceVersion("")
	again.SetFinalizers(nil)
	again.SetManagedFields(nil)
	again.SetDeletionTimestamp(nil)
	testenv.Eventually(t, func() (bool, string) {
		object := again.DeepCopy()
		err := w.client.Create(t.Context(), object)
		return err == nil, "the old object is not gone"
	})
	testenv.Eventually(t, func() (bool, string) {
		_, err := w.delete()
		return err != nil && strings.Contains(err.Error(), "was recreated by another client"), "expected a refusal"
	})
	w.remove(w.configMap("early"))
	w.mustDelete()
}

func TestBrokenAggregatedAPIHoldsUpOnlyItself(t *testing.T) {
	t.Parallel()
	const broken = `
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1.NS.example.com, annotations: {PREFIX/apply-order: "1"}}
spec: {group: NS.example.com, version: v1, groupPriorityMinimum: 100, versionPriority: 100, insecureSkipTLSVerify: true, service: {name: nobody, namespace: NS}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: a}
`
	w := newWorld(t)
	t.Cleanup(func() {
		if service := w.get("apiregistration.k8s.io/v1", "APIService", "v1.NS.example.com"); service != nil {
			service.SetFinalizers(nil)
			_ = w.client.Update(context(t), service)
			_ = w.client.Delete(context(t), service)
		}
	})
	result, err := w.apply(broken)
	if err != nil {
		t.Fatal(err)
	}
	if got := notices(result.Waits); !strings.Contains(got, "APIService v1.") {
		t.Errorf("expected to wait for the APIService, got %q", got)
	}
	other := newWorld(t)
	other.mustApply(configMaps(2, 1))
	other.owner.AdditionalManagedTypes = []reconciler.TypeInfo{{Group: "*.nowhere.example.com", Kind: "*"}}
	if _, err := other.engine.CheckDeletion(t.Context(), reconciler.DeleteRequest{Owner: other.owner}); err != nil {
		t.Errorf("a broken API of another owner must not matter: %v", err)
	}
	other.mustDelete()
	if _, err := w.engine.CheckDeletion(t.Context(), reconciler.DeleteRequest{Owner: w.owner}); err != nil {
		t.Errorf("an API that does not answer shows no instances: %v", err)
	}
	w.mustDelete()
}

// TestDeletionNamesWhatOthersHaveTakenOver changes the owner ID, as happens when components are restored into another cluster,
// whose ID is part of it.
func TestDeletionNamesWhatOthersHaveTakenOver(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.mustApply("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n")
	restored := w.owner
	restored.ID = "other-" + restored.ID
	result, err := w.engine.Delete(t.Context(), reconciler.DeleteRequest{Owner: restored})
	// The observer does not know by what name the owner goes.
	if want := "ConfigMap a: belongs to another owner, and is left alone"; err != nil || !result.Done || notices(result.Notes) != want {
		t.Errorf("expected %q, got %v, %q, %v", want, result.Done, notices(result.Notes), err)
	}
	if w.configMap("a") == nil {
		t.Error("what belongs to others is deleted")
	}
}
