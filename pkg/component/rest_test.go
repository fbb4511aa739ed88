// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apitypes "k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/component/internal/outcomes"
	"github.com/component-operator/runtime/pkg/types"
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
	suspended.Spec.Suspend, suspended.Spec.Objects = true, r.objects(presentB)
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

// lateWidget is a component whose definition is installed after the operator has started.
type (
	lateWidget     Widget
	lateWidgetList list[lateWidget]
)

func (w *lateWidget) GetSpec() types.Unstructurable      { return &w.Spec }
func (w *lateWidget) GetStatus() *Status                 { return &w.Status.Status }
func (w *lateWidget) DeepCopyObject() runtime.Object     { return deepCopy(w) }
func (l *lateWidgetList) DeepCopyObject() runtime.Object { return deepCopy(l) }

// TestMissingType runs two controllers in one manager, of which one has no definition at first. The other one works
// meanwhile, and the operator is ready.
func TestMissingType(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	kind := schema.GroupVersionKind{Group: testenv.UniqueName(t) + ".example.com", Version: "v1", Kind: "LateWidget"}
	late := NewReconciler[*lateWidget]("late."+r.name, &pureSpecObjects{}, ReconcilerOptions{Rollout: &Rollout{MaxUpdating: new(intstr.FromInt32(1))}})
	mgr := r.manager(func(options *ctrl.Options) {
		options.Scheme.AddKnownTypeWithName(kind, &lateWidget{})
		options.Scheme.AddKnownTypeWithName(kind.GroupVersion().WithKind("LateWidgetList"), &lateWidgetList{})
		metav1.AddToGroupVersion(options.Scheme, kind.GroupVersion())
	})
	for _, err := range []error{late.SetupWithManager(mgr), r.reconciler(ReconcilerOptions{}).SetupWithManager(mgr)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	r.run(mgr)
	widget := r.widget(oneConfigMap)
	r.create(widget)
	awaitReady(r, widget)
	probe := (&http.Request{URL: &url.URL{}}).WithContext(t.Context())
	if err := late.ReadyCheck(probe); err != nil {
		t.Errorf("the operator is not ready: %v", err)
	}
	missing := func() []string {
		s := &stage{rig: &rig{tb: t, name: "latewidget." + kind.Group}}
		return s.gathered(func(name string, _ map[string]string, value float64) string {
			if name != "type_missing" {
				return ""
			}
			return fmt.Sprint(value)
		})
	}
	diff(t, "metric", []string{"1"}, missing())

	text, err := os.ReadFile("testdata/crds/component-test.example.io_widgets.yaml")
	if err != nil {
		t.Fatal(err)
	}
	definition := strings.NewReplacer(testGroup.Group, kind.Group, "WidgetList", "LateWidgetList", "kind: Widget", "kind: LateWidget").Replace(string(text))
	crd := testenv.Object(t, definition)
	r.create(crd)
	t.Cleanup(func() { _ = r.client.Delete(context.WithoutCancel(t.Context()), crd) })
	created := testenv.Object(t, "{apiVersion: "+kind.GroupVersion().String()+", kind: LateWidget, metadata: {name: demo}}")
	created.SetNamespace(r.namespace)
	testenv.Eventually(t, func() (bool, string) {
		err := r.client.Create(t.Context(), created)
		return err == nil, fmt.Sprint(err)
	})
	testenv.Eventually(t, func() (bool, string) {
		err := r.client.Get(t.Context(), client.ObjectKeyFromObject(created), created)
		state, _, _ := unstructured.NestedString(created.Object, "status", "state")
		return state == string(StateReady), fmt.Sprint(state, err)
	})
	diff(t, "metric", []string{"0"}, missing())
	if err := late.ReadyCheck(probe); err != nil {
		t.Errorf("the operator is not ready: %v", err)
	}
	r.delete(created)
	r.awaitGone(created)
}

// TestNoPassIsRepeatedWithinASecond goes through all outcomes, with everything that can make the next pass come early.
func TestNoPassIsRepeatedWithinASecond(t *testing.T) {
	t.Parallel()
	never := map[outcomes.Kind]string{
		outcomes.Archived:  "a change of the component brings the dependents back",
		outcomes.Error:     "the controller's rate limiter says when",
		outcomes.Continue:  "no pass ends with it",
		outcomes.Gone:      "there is nothing left to do",
		outcomes.Abandoned: "conclude handles it before anything is decided",
	}
	for kind := outcomes.Continue; kind <= outcomes.Abandoned; kind++ {
		for _, early := range []time.Duration{0, 1, time.Microsecond, time.Second - 1} {
			why := never[kind]
			for _, deleting := range []bool{false, true} {
				expectFloor(t, kind, early, deleting, why)
			}
		}
	}
	for name, delay := range map[string]time.Duration{"abandoned": abandonedDelay, "refused": outcomes.FirstBackoff, "interval": shortestInterval} {
		if delay < time.Second {
			t.Errorf("%s: got %s", name, delay)
		}
	}
	limiter, request := errorDelays(), reconcile.Request{NamespacedName: apitypes.NamespacedName{Name: "a"}}
	for range 100 {
		if delay := limiter.When(request); delay < time.Second || delay > longestErrorDelay {
			t.Errorf("error: got %s", delay)
		}
	}
}

func expectFloor(t *testing.T, kind outcomes.Kind, early time.Duration, deleting bool, never string) {
	t.Helper()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, since := range []time.Time{{}, now, now.Add(-time.Minute + 1), now.Add(-time.Hour)} {
		o := outcomes.Outcome{Kind: kind, Wake: early, RetryAfter: &early, Err: errors.New("boom")}
		d := decide(o, history{deleting: deleting, since: since}, timing{requeue: time.Second, retry: time.Second, timeout: time.Minute}, now)
		switch {
		case never != "" && d.requeue != 0:
			t.Errorf("outcome %d is not repeated by time, because %s; got %s", kind, never, d.requeue)
		case never == "" && d.requeue < time.Second:
			t.Errorf("outcome %d (wake %s, deleting %t, since %s): got %s", kind, early, deleting, since, d.requeue)
		}
	}
}
