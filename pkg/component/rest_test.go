// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"net/http"
	"net/url"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/testenv"
)

func request(namespace, name string) ctrl.Request {
	return ctrl.Request{NamespacedName: client.ObjectKey{Namespace: namespace, Name: name}}
}

// isNoise reports whether a request is a watch, or its renewal.
func isNoise(request testenv.Request) bool {
	return request.IsWatch()
}

func TestAtRestThereAreNoRequests(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	generator := &pureSpecObjects{}
	reconciler := NewReconciler[*Widget](r.name, generator, ReconcilerOptions{})
	r.start(reconciler)
	r.create(r.secret("credentials", map[string]string{"password": "one"}))
	widget := r.widget(webDeployment)
	widget.Spec.Password = &SecretKeyReference{Name: "credentials"}
	r.create(widget)
	awaitReady(r, widget)
	r.settle(widget)
	renders := generator.count()

	r.requests.Reset()
	for range 20 {
		result, err := reconciler.Reconcile(t.Context(), request(widget.Namespace, widget.Name))
		if err != nil {
			t.Fatal(err)
		}
		if least, most := 10*time.Minute*101/100, 10*time.Minute*105/100; result.RequeueAfter < least || result.RequeueAfter > most {
			t.Errorf("want the requeue interval plus 1 to 5 percent, got %s", result.RequeueAfter)
		}
	}
	if count := r.requests.Count(func(request testenv.Request) bool { return !isNoise(request) }); count > 0 {
		t.Errorf("want no requests, got\n%s", r.requests)
	}
	diff(t, "renders", renders, generator.count())

	// A foreign annotation makes no new revision, but the generator sees it.
	revision := widget.Status.Revision
	change(r, widget, func(w *Widget) { metav1.SetMetaDataAnnotation(&w.ObjectMeta, "foreign.example.io/a", "b") })
	testenv.Eventually(t, func() (bool, string) { return generator.count() > renders, "the generator was not called" })
	r.settle(widget)
	diff(t, "revision after a foreign annotation", revision, widget.Status.Revision)
	change(r, widget, func(w *Widget) { metav1.SetMetaDataAnnotation(&w.ObjectMeta, r.name+"/reconcile-at", "now") })
	r.settle(widget)
	diff(t, "revision after an attempt was requested", revision, widget.Status.Revision)
	change(r, widget, func(w *Widget) { metav1.SetMetaDataAnnotation(&w.ObjectMeta, r.name+"/option", "b") })
	await(r, widget, "a new revision after an own annotation", func() bool { return widget.Status.Revision == revision+1 })
}

// TestTimeAtRest waits for timers that should not be there.
func TestTimeAtRest(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.start(r.reconciler(ReconcilerOptions{}))
	widget := r.widget(webDeployment)
	widget.Spec.Banner = &ConfigMapReference{Name: "banner"}
	r.create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: "banner"}})
	r.create(widget)
	suspended := r.widget(oneConfigMap)
	suspended.Name = "suspended"
	suspended.Spec.Suspend = true
	r.create(suspended)
	awaitReady(r, widget)
	awaitState(r, suspended, StatePending, ReadyConditionReasonSuspended)
	r.settle(widget)
	r.requests.Reset()
	time.Sleep(20 * time.Second)
	if count := r.requests.Count(func(request testenv.Request) bool { return !isNoise(request) }); count > 0 {
		t.Errorf("want no requests, got\n%s", r.requests)
	}
}

// TestRequestsUntilReady counts what it takes to create dependents of one kind in one wave.
func TestRequestsUntilReady(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	reconciler := r.reconciler(ReconcilerOptions{})
	mgr := r.manager(nil)
	if err := reconciler.SetupWithManager(mgr); err != nil {
		t.Fatal(err)
	}
	r.run(mgr)
	var objects string
	const count = 20
	for i := range count {
		objects += "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: c" + string(rune('a'+i)) + "}}\n"
	}
	widget := r.widget(objects)
	r.create(widget)
	awaitReady(r, widget)
	r.settleCounting() // events are written in the background

	dependents, others, events := 0, 0, 0
	for _, request := range r.requests.All() {
		switch {
		case isNoise(request), request.Resource == "", request.Resource == "namespaces" && request.Name == "kube-system":
		case request.Resource == "events":
			events++
		case request.Resource == "configmaps" && request.Method == http.MethodPatch:
			dependents++
		case request.Resource == "widgets" && request.Method == http.MethodGet:
			// Listing the components is the manager's business.
		default:
			others++
		}
	}
	if dependents != count || others > 6 || events > 3 {
		t.Errorf("want %d writes, at most 6 other requests and 3 events; got %d, %d and %d:\n%s", count, dependents, others, events, r.requests)
	}
}

func TestReadyCheck(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	reconciler := r.reconciler(ReconcilerOptions{})
	probe := (&http.Request{URL: &url.URL{}}).WithContext(t.Context())
	if reconciler.ReadyCheck(probe) == nil {
		t.Error("want the check to fail before the setup")
	}
	mgr := r.manager(nil)
	if err := reconciler.SetupWithManager(mgr); err != nil {
		t.Fatal(err)
	}
	if reconciler.ReadyCheck(probe) == nil {
		t.Error("want the check to fail before the start")
	}
	r.run(mgr)
	testenv.Eventually(t, func() (bool, string) {
		err := reconciler.ReadyCheck(probe)
		return err == nil, "the check fails"
	})
}
