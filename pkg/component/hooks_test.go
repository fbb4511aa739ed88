// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/component/internal/queue"
	"github.com/component-operator/runtime/pkg/types"
)

const oneConfigMap = `{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {color: red}}`

// hookLog notes what hooks see.
type hookLog struct {
	mu      sync.Mutex
	entries []string
	// fail is returned by the hook of that name.
	fail map[string]error
	// boom is what the hook of that name panics with.
	boom map[string]any
}

func (d *hookLog) hook(r *rig, name string) HookFunc[*Widget] {
	return func(ctx context.Context, _ client.Client, widget *Widget) error {
		d.mu.Lock()
		defer d.mu.Unlock()
		seen := name
		if _, err := ClientFromContext(ctx); err == nil {
			seen += "+client"
		}
		if _, err := LocalClientFromContext(ctx); err == nil {
			seen += "+local"
		}
		if reconciler, err := ReconcilerNameFromContext(ctx); err != nil || reconciler != r.name {
			seen += "-name"
		}
		if r.configMap("settings") != nil {
			seen += " with dependents"
		}
		if !slices.Contains(d.entries, seen) {
			d.entries = append(d.entries, seen)
		}
		widget.Status.Extra = "seen by " + name
		if reason := d.boom[name]; reason != nil {
			panic(reason)
		}
		return d.fail[name]
	}
}

func (d *hookLog) set(name string, err error, reason any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fail, d.boom = map[string]error{name: err}, map[string]any{name: reason}
}

func (d *hookLog) take() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	entries := d.entries
	d.entries = nil
	return entries
}

func (d *hookLog) addTo(r *rig, reconciler *Reconciler[*Widget]) *Reconciler[*Widget] {
	return reconciler.
		WithPostReadHook(d.hook(r, "post-read")).
		WithPreReconcileHook(d.hook(r, "pre-reconcile 1")).WithPreReconcileHook(d.hook(r, "pre-reconcile 2")).
		WithPostReconcileHook(d.hook(r, "post-reconcile")).
		WithPreDeleteHook(d.hook(r, "pre-delete")).
		WithPostDeleteHook(d.hook(r, "post-delete"))
}

func TestHooks(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	notes := &hookLog{}
	reconciler := notes.addTo(r, r.reconciler(ReconcilerOptions{}))
	notes.set("pre-reconcile 2", errors.New("not now"), nil)
	r.start(reconciler)
	widget := r.widget(oneConfigMap)
	r.create(widget)

	awaitState(r, widget, StateError, ReadyConditionReasonError)
	_, _, message := widget.Status.GetState()
	diff(t, "message", "Pre-reconcile hook 2 of the operator: not now", message)
	diff(t, "order of hooks until one fails", []string{"post-read", "pre-reconcile 1+client+local", "pre-reconcile 2+client+local"}, notes.take())
	diff(t, "field of the component's own", "seen by pre-reconcile 2", widget.Status.Extra)

	delay := 10 * time.Millisecond
	notes.set("pre-reconcile 2", fmt.Errorf("because: %w", types.NewRetriableError(errors.New("not yet"), &delay)), nil)
	awaitState(r, widget, StatePending, ReadyConditionReasonRetrying)

	notes.set("post-reconcile", nil, "a mistake")
	await(r, widget, "the panic to be reported", func() bool {
		_, _, message := widget.Status.GetState()
		return strings.HasPrefix(message, "Post-reconcile hook 1 of the operator: panic: a mistake (component/hooks_test.go:")
	})
	diff(t, "state", StateError, widget.Status.State)

	notes.set("", nil, nil)
	awaitReady(r, widget)
	r.settle(widget)
	notes.take()
	if err := reconciler.Trigger(widget.Namespace, widget.Name); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"post-read with dependents", "pre-reconcile 1+client+local with dependents",
		"pre-reconcile 2+client+local with dependents", "post-reconcile+client+local with dependents",
	}
	var got []string
	testenv.Eventually(t, func() (bool, string) {
		got = append(got, notes.take()...)
		return len(got) >= len(want), fmt.Sprint(got)
	})
	diff(t, "hooks after the trigger", want, got)

	notes.set("post-delete", types.NewRetriableError(errors.New("not yet"), &delay), nil)
	r.delete(widget)
	awaitState(r, widget, StateDeletionPending, ReadyConditionReasonDeletionRetrying)
	notes.set("", nil, nil)
	r.awaitGone(widget)
	diff(t, "hooks during the deletion", []string{
		"post-read with dependents", "pre-delete+client+local with dependents", "post-delete+client+local",
		// After the hook has failed:
		"post-read", "pre-delete+client+local",
	}, notes.take())
}

func TestLateHookIsReported(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	reconciler := r.reconciler(ReconcilerOptions{})
	if _, err := reconciler.Reconcile(t.Context(), request("a", "b")); !errors.Is(err, errNotSetUp) {
		t.Errorf("want %v before the setup, got %v", errNotSetUp, err)
	}
	r.start(reconciler)
	reconciler.WithPreReconcileHook((&hookLog{}).hook(r, "late"))
	if _, err := reconciler.Reconcile(t.Context(), request("a", "b")); !errors.Is(err, errLateHook) {
		t.Errorf("want %v, got %v", errLateHook, err)
	}
}

func TestTriggersBeforeTheStartAreBounded(t *testing.T) {
	t.Parallel()
	reconciler := NewReconciler[*Widget]("test.example.io", nil, ReconcilerOptions{})
	for range queue.TriggerCapacity {
		if err := reconciler.Trigger("a", "b"); err != nil {
			t.Fatal(err)
		}
	}
	if err := reconciler.Trigger("a", "b"); err == nil {
		t.Error("want an error when too many triggers wait")
	}
}

// TestPostReconcileHooksRunOncePerRevision counts calls: for a change, at rest, after drift, after another annotation,
// and after Trigger.
func TestPostReconcileHooksRunOncePerRevision(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var calls atomic.Int32
	var failures atomic.Int32
	own := r.reconciler(ReconcilerOptions{}).WithPostReconcileHook(func(_ context.Context, _ client.Client, widget *Widget) error {
		calls.Add(1)
		widget.Status.Extra = fmt.Sprint("call ", calls.Load())
		if failures.Add(-1) >= 0 {
			return types.NewRetriableError(errors.New("not yet"), new(10*time.Millisecond))
		}
		return nil
	})
	stop := r.start(own)
	widget := r.widget(oneConfigMap)
	r.create(widget)
	expect := func(reason string, want int32) {
		t.Helper()
		awaitReady(r, widget)
		r.settle(widget)
		for range 3 {
			if _, err := own.Reconcile(t.Context(), request(widget.Namespace, widget.Name)); err != nil {
				t.Fatal(err)
			}
		}
		if got := calls.Swap(0); got != want {
			t.Errorf("%s: want %d calls, got %d", reason, want, got)
		}
		awaitReady(r, widget)
		if want > 0 && widget.Status.Extra != fmt.Sprint("call ", want) {
			t.Errorf("%s: what the hook has set is lost: %q", reason, widget.Status.Extra)
		}
	}
	expect("creation", 1)
	expect("rest", 0)
	change(r, widget, func(w *Widget) { w.Spec.Objects = r.objects(strings.Replace(oneConfigMap, "red", "blue", 1)) })
	expect("another manifest", 1)
	change(r, widget, func(w *Widget) { metav1.SetMetaDataAnnotation(&w.ObjectMeta, "example.io/note", "a") })
	expect("another annotation", 1)
	change(r, r.configMapObject("settings"), func(c *corev1.ConfigMap) { c.Data["color"] = "drifted" })
	await(r, widget, "the correction", func() bool { return r.configMap("settings")["color"] == "blue" })
	expect("drift", 1)
	failures.Store(2)
	if err := own.Trigger(widget.Namespace, widget.Name); err != nil {
		t.Fatal(err)
	}
	testenv.Eventually(t, func() (bool, string) { return calls.Load() == 3, "the hook is not called as long as it fails" })
	expect("Trigger, and two failures", 3)
	stop()
	own = r.reconciler(ReconcilerOptions{}).WithPostReconcileHook(func(context.Context, client.Client, *Widget) error {
		calls.Add(1)
		return nil
	})
	r.start(own)
	testenv.Eventually(t, func() (bool, string) { return calls.Load() == 1, "the hook is not called after a restart" })
}
