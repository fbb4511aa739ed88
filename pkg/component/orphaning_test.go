// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/reconciler"
)

// deleteOrphaning deletes as kubectl delete --cascade=orphan does.
func (r *rig) deleteOrphaning(object client.Object) {
	r.tb.Helper()
	if err := r.client.Delete(r.tb.Context(), object, client.PropagationPolicy(metav1.DeletePropagationOrphan)); err != nil {
		r.tb.Fatal(err)
	}
}

// expectReleased looks whether the ConfigMaps are there and have no owner.
func (r *rig) expectReleased(names ...string) {
	r.tb.Helper()
	for _, name := range names {
		found := &corev1.ConfigMap{}
		if err := r.client.Get(r.tb.Context(), client.ObjectKey{Namespace: r.namespace, Name: name}, found); err != nil {
			r.tb.Errorf("want %s to stay: %v", name, err)
			continue
		}
		if found.Labels[r.name+"/owner-id"] != "" || found.Annotations[r.name+"/owner-id"] != "" {
			r.tb.Errorf("want %s to have no owner, got %v and %v", name, found.Labels, found.Annotations)
		}
	}
}

const twoConfigMaps = oneConfigMap + "\n---\n" + `{apiVersion: v1, kind: ConfigMap, metadata: {name: other}}`

func TestOrphaning(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	called := make(chan string, 10)
	note := func(name string) HookFunc[*Widget] {
		return func(context.Context, client.Client, *Widget) error {
			called <- name
			return nil
		}
	}
	r.start(r.reconciler(ReconcilerOptions{}).WithPreDeleteHook(note("pre-delete")).WithPostDeleteHook(note("post-delete")))
	widget := r.widget(twoConfigMaps + r.job("before", "deletion-hook", "pre-delete") + r.job("after", "deletion-hook", "post-delete"))
	r.create(widget)
	awaitReady(r, widget)
	jobs := r.jobsThatAppear()
	r.deleteOrphaning(widget)
	r.awaitGone(widget)
	r.expectReleased("settings", "other")
	r.awaitEvent("Released", fmt.Sprintf("2 dependents orphaned, because the component was deleted with the propagation policy Orphan: ConfigMap %s/other, ConfigMap %s/settings", r.namespace, r.namespace))
	r.awaitEvent("HooksSkipped", "Pre-delete hooks are skipped, because dependents are orphaned, not deleted")
	diff(t, "hooks that ran", []string(nil), jobs())
	diff(t, "Secrets that are left", 0, len(r.hookSecrets()))
	select {
	case name := <-called:
		t.Errorf("want no hook to be called, got %s", name)
	default:
	}
}

// TestOrphaningThatIsSeenInAnEventOnly has the garbage collector remove the finalizer before the component is read.
func TestOrphaningThatIsSeenInAnEventOnly(t *testing.T) {
	t.Parallel()
	for _, seen := range []bool{true, false} {
		t.Run(fmt.Sprint(seen), func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			change(s.rig, s.widget, func(w *Widget) { w.Finalizers = []string{s.name} })
			s.widget.Status.ObservedGeneration, s.widget.Status.Inventory = 1, deployed("web")
			if err := s.client.Status().Update(t.Context(), s.widget); err != nil {
				t.Fatal(err)
			}
			s.delete(s.widget)
			s.read(s.widget)
			if seen {
				before, now := s.widget.DeepCopyObject().(*Widget), s.widget.DeepCopyObject().(*Widget)
				before.DeletionTimestamp = nil
				now.Finalizers = append(now.Finalizers, metav1.FinalizerOrphanDependents)
				s.worker.filter().Update(event.UpdateEvent{ObjectOld: before, ObjectNew: now})
			}
			_, _, _ = s.pass()
			s.read(s.widget)
			diff(t, "record", seen, s.widget.Annotations[s.name+"/orphan-dependents"] == "true")
			policies := []reconciler.DeletePolicy{}
			for _, item := range s.script.deleted {
				policies = append(policies, item.DeletePolicy)
			}
			diff(t, "dependents are released", seen, slices.Equal(policies, []reconciler.DeletePolicy{reconciler.DeletePolicyOrphan}))
		})
	}
}

// TestDeathWhileOrphaning lets the process die after each write from the record on: the next process must not delete
// anything, although the finalizer is not there any more.
func TestDeathWhileOrphaning(t *testing.T) {
	t.Parallel()
	for survived := 1; survived <= 4; survived++ {
		t.Run(fmt.Sprint(survived), func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			stop := r.start(r.reconciler(ReconcilerOptions{}))
			widget := r.widget(twoConfigMaps)
			r.create(widget)
			awaitReady(r, widget)
			r.settle(widget)
			stop()
			r.dieAfter(survived, func() {
				r.settle(widget)
				r.deleteOrphaning(widget)
			}, func() bool { return r.isGone(widget) })
			r.awaitGone(widget)
			r.expectReleased("settings", "other")
		})
	}
}

// dieAfter starts an operator that has done its work when over reports so, and fails in all that it writes, except for
// events, once it has written as often as is said. It then starts another one that does not fail.
func (r *rig) dieAfter(survived int, act func(), over func() bool) {
	r.tb.Helper()
	healthy := r.config
	writes := r.failAfter(survived)
	stop := r.start(r.reconciler(ReconcilerOptions{}))
	act()
	testenv.Eventually(r.tb, func() (bool, string) {
		return writes.Load() >= int64(survived) || over(), "the operator does not come to its end"
	})
	stop()
	r.config = healthy
	r.start(r.reconciler(ReconcilerOptions{}))
}

// failAfter has the operators that are started from now on fail in all that they write, and returns how often they have
// written by now.
func (r *rig) failAfter(survived int) (writes *atomic.Int64) {
	writes = &atomic.Int64{}
	r.config = testenv.Intercept(r.config, func(request *http.Request, next http.RoundTripper) (*http.Response, error) {
		writing := !strings.Contains(request.URL.Path, "/events") && request.Method != http.MethodGet
		if writing && writes.Load() >= int64(survived) {
			return nil, errors.New("the process died")
		}
		response, err := next.RoundTrip(request)
		// The garbage collector writes at the same time: a conflict is no write.
		if writing && err == nil && response.StatusCode < http.StatusMultipleChoices {
			writes.Add(1)
		}
		return response, err
	})
	return writes
}

func (r *rig) isGone(object client.Object) bool {
	return apierrors.IsNotFound(r.client.Get(r.tb.Context(), client.ObjectKeyFromObject(object), object))
}
