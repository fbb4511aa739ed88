// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apitypes "k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/metrics"
	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/component/internal/dependencies"
	"github.com/component-operator/runtime/pkg/component/internal/generation"
	"github.com/component-operator/runtime/pkg/component/internal/outcomes"
	"github.com/component-operator/runtime/pkg/component/internal/queue"
	"github.com/component-operator/runtime/pkg/component/internal/resource"
	"github.com/component-operator/runtime/pkg/manifests"
)

// bareWorker is a worker without a manager, which is enough to write statuses.
func (r *rig) bareWorker(component func() Component, kind string) *worker {
	r.tb.Helper()
	options, err := ReconcilerOptions{}.complete(r.name)
	if err != nil {
		r.tb.Fatal(err)
	}
	measured, err := metrics.New(nil, r.name)
	if err != nil {
		r.tb.Fatal(err)
	}
	calls := generation.NewCalls(generation.Options{
		Patience: time.Hour, Wake: func(apitypes.NamespacedName) {}, Took: measured.Generated, Panics: &generation.Catcher{},
	})
	w := &worker{
		author: author{name: r.name, options: options}, calls: calls, memories: newMemories(), metrics: measured,
		resource: &resource.Client{
			Kind: testGroup.WithKind(kind), New: func() client.Object { return component() }, ClearStatus: clearStatus, Client: r.client, Live: r.client,
			FieldOwner: *options.FieldOwner, OwnFields: statusFields,
		},
		events:  record.NewFakeRecorder(100),
		places:  queue.NewPlaces(options.MaxConcurrentReconciles, 0),
		objects: dependencies.Unwatched(dependencies.Options{Client: r.client}),
	}
	// The names of chunks depend on it.
	if err := w.identifyCluster(nil, nil); err != nil {
		r.tb.Fatal(err)
	}
	return w
}

func newWidget() Component { return &Widget{} }

func (r *rig) begin(w *worker, component Component) *pass {
	r.tb.Helper()
	current := w.resource.New().(Component)
	if err := r.client.Get(r.tb.Context(), client.ObjectKeyFromObject(component), current); err != nil {
		r.tb.Fatal(err)
	}
	s, err := w.newPass(r.tb.Context(), current, nil)
	if err != nil {
		r.tb.Fatal(err)
	}
	return s
}

func TestStatusIsWrittenOnlyWhenItChanges(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	w := r.bareWorker(newWidget, "Widget")
	widget := r.widget("")
	r.create(widget)
	s := r.begin(w, widget)
	s.status.SetState(StateProcessing, "A", "a")
	if err := s.record.SaveStatus(t.Context()); err != nil {
		t.Fatal(err)
	}
	version := s.component.GetResourceVersion()
	s.status.LastObservedAt = s.status.Conditions[0].LastTransitionTime
	s.status.LastAppliedAt = s.status.LastObservedAt
	if err := s.record.SaveStatus(t.Context()); err != nil {
		t.Fatal(err)
	}
	diff(t, "version after times have changed", version, s.component.GetResourceVersion())
	again := r.begin(w, widget)
	again.status.SetState(StateProcessing, "A", "a")
	if err := again.record.SaveStatus(t.Context()); err != nil {
		t.Fatal(err)
	}
	diff(t, "version after the same was said again", version, again.component.GetResourceVersion())
}

func TestConflicts(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		reason string
		// interfere is what another client does during the pass.
		interfere func(ctx context.Context, c client.Client, widget *Widget) error
		want      error
	}{
		{
			reason: "changes of spec and metadata do not matter",
			interfere: func(ctx context.Context, c client.Client, widget *Widget) error {
				widget.Labels = map[string]string{"a": "b"}
				widget.Spec.Suspend = true
				return c.Update(ctx, widget)
			},
		}, {
			reason: "nor do fields of the status that are not the reconciler's",
			interfere: func(ctx context.Context, c client.Client, widget *Widget) error {
				widget.Status.Extra = "of somebody else"
				return c.Status().Update(ctx, widget)
			},
		}, {
			reason: "another writer of the status ends the pass",
			interfere: func(ctx context.Context, c client.Client, widget *Widget) error {
				widget.Status.State = StateError
				return c.Status().Update(ctx, widget)
			},
			want: resource.ErrChanged,
		}, {
			reason: "another component of the same name is not meant",
			interfere: func(ctx context.Context, c client.Client, widget *Widget) error {
				if err := c.Delete(ctx, widget); err != nil {
					return err
				}
				widget.ResourceVersion, widget.UID = "", ""
				return c.Create(ctx, widget)
			},
			want: resource.ErrChanged,
		},
	} {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			w := r.bareWorker(newWidget, "Widget")
			widget := r.widget("")
			r.create(widget)
			s := r.begin(w, widget)
			if err := test.interfere(t.Context(), r.client, widget.DeepCopyObject().(*Widget)); err != nil {
				t.Fatal(err)
			}
			s.status.SetState(StateProcessing, "A", "a")
			if err := s.record.SaveStatus(t.Context()); !errors.Is(err, test.want) {
				t.Fatalf("want %v, got %v", test.want, err)
			}
			if test.want != nil {
				return
			}
			stored := r.begin(w, widget).component.(*Widget)
			diff(t, "state", StateProcessing, stored.Status.State)
			if strings.Contains(test.reason, "fields of the status") {
				diff(t, "field of somebody else", "of somebody else", stored.Status.Extra)
			}
		})
	}
}

// TestOutdatedDefinition plays the life of a component whose definition drops fields that are new.
func TestOutdatedDefinition(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	reconciler := NewReconciler[*OldWidget](r.name, manifests.GeneratorFunc(specObjects), ReconcilerOptions{})
	mgr := r.manager(nil)
	if err := reconciler.SetupWithManager(mgr); err != nil {
		t.Fatal(err)
	}
	r.run(mgr)
	widget := (*OldWidget)(r.widget(webDeployment))
	r.create(widget)
	awaitReady(r, widget)
	r.settle(widget)
	if widget.Status.Inventory[0].UID != "" || widget.Status.Conditions[0].ObservedGeneration != 0 {
		t.Fatal("the definition was expected to drop fields")
	}
	r.awaitEvent("StatusPruned", "The CustomResourceDefinition is older than this operator, and lacks ")
	r.requests.Reset()
	for range 10 {
		if _, err := reconciler.Reconcile(t.Context(), request(widget.Namespace, widget.Name)); err != nil {
			t.Fatal(err)
		}
	}
	if count := r.requests.Count(func(request testenv.Request) bool { return !isNoise(request) }); count > 0 {
		t.Errorf("want no requests at rest, got\n%s", r.requests)
	}

	change(r, widget, func(w *OldWidget) { w.Spec.Objects = r.objects(oneConfigMap) })
	awaitReady(r, widget)
	r.delete(widget)
	r.awaitGone(widget)
	if r.configMap("settings") != nil {
		t.Error("a dependent is left behind")
	}
}

// versions returns the UIDs of ConfigMaps.
func (r *rig) versions() map[string]apitypes.UID {
	r.tb.Helper()
	list := &corev1.ConfigMapList{}
	if err := r.client.List(r.tb.Context(), list, client.InNamespace(r.namespace)); err != nil {
		r.tb.Fatal(err)
	}
	uids := map[string]apitypes.UID{}
	for _, item := range list.Items {
		uids[item.Name] = item.UID
	}
	return uids
}

// TestDefinitionThatRefusesStates sees a state that the definition does not know: people must find out why nothing
// moves, and the operator must not run hot.
func TestDefinitionThatRefusesStates(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	reconciler := NewReconciler[*AncientWidget](r.name, manifests.GeneratorFunc(specObjects), ReconcilerOptions{})
	mgr := r.manager(nil)
	if err := reconciler.SetupWithManager(mgr); err != nil {
		t.Fatal(err)
	}
	r.run(mgr)
	widget := (*AncientWidget)(r.widget(oneConfigMap))
	widget.Spec.Suspend = true
	r.create(widget)
	r.awaitEvent("StatusRejected", "The API server rejects the status, so the component shows an old one; if the CustomResourceDefinition is older than this operator, apply the one of its version: ")
	r.requests.Reset()
	r.settleCounting()
	if writes := r.requests.Count(testenv.Request.IsWrite); writes > 2 {
		t.Errorf("want the operator to be calm, got\n%s", r.requests)
	}
	result, err := r.reconcile(reconciler, widget)
	if err != nil || result.RequeueAfter < outcomes.FirstBackoff {
		t.Errorf("want a later retry, got %v, %v", result, err)
	}
}

func TestStaleCache(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	w := r.bareWorker(newWidget, "Widget")
	stale := &staleReader{Client: r.client}
	w.resource.Client = stale
	widget := r.widget("")
	r.create(widget)
	stale.object = widget.DeepCopyObject().(*Widget)
	s := r.begin(w, widget)
	s.status.SetState(StateProcessing, "A", "a")
	if err := s.record.SaveStatus(t.Context()); err != nil {
		t.Fatal(err)
	}
	key := client.ObjectKeyFromObject(widget)
	component, err := w.fetch(t.Context(), key)
	if err != nil || component == nil || component.GetResourceVersion() != s.component.GetResourceVersion() {
		t.Errorf("want the component to be read from the server, got %v, %v", component, err)
	}
	stale.object = component.(*Widget)
	w.resource.Live = mute{}
	if component, err = w.fetch(t.Context(), key); err != nil || component == nil {
		t.Errorf("want the cache to be used again, got %v, %v", component, err)
	}
}

// staleReader returns the same object again and again.
type staleReader struct {
	client.Client
	object *Widget
}

func (r *staleReader) Get(_ context.Context, _ client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	if widget, ok := object.(*Widget); ok {
		*widget = *r.object.DeepCopyObject().(*Widget)
	}
	return nil
}
