// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"fmt"
	"testing"

	"github.com/component-operator/runtime/internal/observe"
	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/reconciler"
)

// unready is an object that is never ready.
const unready = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, annotations: {PREFIX/status-hint: conditions=Useful}}\n"

func TestWhatIsNotObservedIsLookedAtAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, withoutObserver)
	result, err := w.apply(unready)
	if err != nil || result.Done || result.RequeueAfter == 0 {
		t.Fatalf("expected to wait with a timer, got %v, %v, %v", result.Done, result.RequeueAfter, err)
	}
	w.patch(w.configMap("a"), `{"metadata":{"finalizers":["example.com/hold"]}}`)
	result, err = w.delete()
	if err != nil || result.Done || result.RequeueAfter == 0 {
		t.Fatalf("expected to wait with a timer, got %v, %v, %v", result.Done, result.RequeueAfter, err)
	}
	w.patch(w.configMap("a"), `{"metadata":{"finalizers":null}}`)
	w.mustDelete()
}

func TestTerminatingObjectOfOthersIsAwaited(t *testing.T) {
	t.Parallel()
	const manifest = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
	for _, label := range []string{"", "somebody"} {
		t.Run("label "+label, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.create(fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, finalizers: [example.com/hold], labels: {PREFIX/owner-id: %q}}\n", label))
			w.remove(w.configMap("a"))
			result, err := w.apply(manifest)
			if err != nil || result.Done || result.RequeueAfter == 0 {
				t.Fatalf("expected to wait with a timer, got %v, %v, %v", result.Done, result.RequeueAfter, err)
			}
			w.patch(w.configMap("a"), `{"metadata":{"finalizers":null}}`)
			w.settle(manifest, func(result reconciler.Result) (bool, string) { return result.Done, notices(result.Waits) })
		})
	}
}

func TestDeadlineIsNotPolled(t *testing.T) {
	t.Parallel()
	const manifest = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {nodeSelector: {no: where}, containers: [{name: a, image: example.com/none}]}\n"
	w := newWorld(t)
	if _, err := w.apply(manifest); err != nil {
		t.Fatal(err)
	}
	passes := 0
	w.settle(manifest, func(result reconciler.Result) (bool, string) {
		passes++
		return len(result.Failures) > 0, notices(result.Waits)
	})
	if passes > 15 {
		t.Errorf("expected few passes, got %d", passes)
	}
}

func TestObjectThatIsDeletedAgainAndAgainIsNotReady(t *testing.T) {
	t.Parallel()
	const manifest = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
	w := newWorld(t)
	for range 10 {
		w.mustApply(manifest)
		removed := w.configMap("a")
		w.remove(removed)
		testenv.Eventually(t, func() (bool, string) {
			seen, view := w.steady.Observer.Get(removed.GroupVersionKind(), w.namespace, "a")
			return view != observe.Present || seen.UID != removed.GetUID(), "the deletion is not seen"
		})
		if result, err := w.apply(manifest); err == nil && result.RequeueAfter > 0 {
			if result.Done {
				t.Errorf("done without the object: %v %v %s", result.RequeueAfter, err, notices(result.Drift))
			}
			return
		}
	}
	t.Error("never backed off")
}
