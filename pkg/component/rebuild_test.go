// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/component/internal/outcomes"
	"github.com/component-operator/runtime/pkg/manifests"
	"github.com/component-operator/runtime/pkg/reconciler"
)

// wipe takes the status away, as a restored backup does.
func (r *rig) wipe(widget *Widget) {
	r.tb.Helper()
	if err := r.client.Status().Patch(r.tb.Context(), widget, client.RawPatch("application/merge-patch+json", []byte(`{"status":null}`))); err != nil {
		r.tb.Fatal(err)
	}
}

func TestLostInventories(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		reason string
		count  int
		lose   func(r *rig, widget *Widget)
		want   string
	}{
		{
			reason: "a chunk is missing", count: 60,
			lose: func(r *rig, widget *Widget) { r.lose(widget.Status.InventoryRecord.Chunks[1]) },
			want: "the inventory was rebuilt from labels because its record was damaged (ConfigMap ",
		}, {
			reason: "the status is wiped that had chunks", count: 60,
			lose: func(r *rig, widget *Widget) { r.wipe(widget) },
			want: "the inventory was rebuilt from labels because the status was empty, 60 dependents found; purged dependents (such as completed Jobs) cannot be found, and may run again",
		}, {
			reason: "the status is wiped that had a list", count: 4,
			lose: func(r *rig, widget *Widget) { r.wipe(widget) },
			want: "the inventory was rebuilt from labels because the status was empty, 4 dependents found; purged dependents (such as completed Jobs) cannot be found, and may run again",
		},
	} {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			stop := r.start(r.crowdReconciler())
			widget := r.crowded(crowd{count: test.count})
			r.create(widget)
			awaitReady(r, widget)
			r.settle(widget)
			stop()
			before := r.members(r.namespace)
			test.lose(r, widget)
			own := r.crowdReconciler()
			r.start(own)
			await(r, widget, "readiness with an explanation", func() bool {
				_, _, message := widget.Status.GetState()
				return widget.Status.IsReady() && strings.Contains(message, test.want)
			})
			r.awaitEvent("InventoryRebuilt", "The inventory was rebuilt from labels because ")
			diff(t, "dependents", before, r.members(r.namespace))
			r.settle(widget)
			if test.count > 5 {
				r.expectRecord(widget, test.count)
			} else {
				diff(t, "items", test.count, len(widget.Status.Inventory))
			}
			// That was it: nothing is done again.
			r.requests.Reset()
			if _, err := own.Reconcile(t.Context(), request(widget.Namespace, widget.Name)); err != nil {
				t.Fatal(err)
			}
			if count := r.requests.Count(func(request testenv.Request) bool { return !isNoise(request) }); count > 0 {
				t.Errorf("want no requests at rest, got\n%s", r.requests)
			}
			change(r, widget, func(w *Widget) { w.Spec.Objects = crowd{count: test.count - 1}.spec() })
			awaitReady(r, widget)
			diff(t, "dependents", test.count-1, len(r.members(r.namespace)))
			r.delete(widget)
			r.awaitGone(widget)
			diff(t, "what is left", []int{0, 0}, []int{len(r.chunks()), len(r.members(r.namespace))})
		})
	}
}

// TestLostInventoryOfADeletedComponent has no idea of the kinds that there were.
func TestLostInventoryOfADeletedComponent(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	stop := r.start(r.crowdReconciler())
	widget := r.crowded(crowd{count: 60})
	r.create(widget)
	awaitReady(r, widget)
	r.settle(widget)
	// A dependent that does not go at once lets the deletion take several passes.
	member := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: "member-0001"}}
	change(r, member, func(c *corev1.ConfigMap) { controllerutil.AddFinalizer(c, "other.example.io/finalizer") })
	r.settle(widget)
	stop()
	r.wipe(widget)
	r.delete(widget)
	stop = r.start(r.crowdReconciler())
	awaitState(r, widget, StateDeleting, ReadyConditionReasonDeletionProcessing)
	stop()
	r.start(r.crowdReconciler())
	r.settle(widget)
	change(r, member, func(c *corev1.ConfigMap) { controllerutil.RemoveFinalizer(c, "other.example.io/finalizer") })
	r.awaitGone(widget)
	diff(t, "what is left", []int{0, 0}, []int{len(r.chunks()), len(r.members(r.namespace))})
}

// TestPurgedDependentsDoNotRunAgain loses all chunks.
func TestPurgedDependentsDoNotRunAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	start := func() (stop func()) {
		return r.start(NewReconciler[*Widget](r.name, manifests.GeneratorFunc(specObjects), ReconcilerOptions{inlineLimit: 500}))
	}
	stop := start()
	widget := r.widget(strings.ReplaceAll(`
{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: migration, annotations: {NAME/purge-order: "0"}}}
`, "NAME", r.name))
	r.create(widget)
	awaitReady(r, widget)
	r.settle(widget)
	r.expectRecord(widget, 2)
	if r.configMap("migration") != nil || len(widget.Status.InventoryRecord.Completed) != 1 {
		t.Fatalf("want the migration to be purged, and recorded, got %+v", widget.Status.InventoryRecord)
	}
	stop()
	for _, name := range widget.Status.InventoryRecord.Chunks {
		r.lose(name)
	}
	r.requests.Reset()
	start()
	await(r, widget, "an explanation", func() bool {
		_, _, message := widget.Status.GetState()
		return widget.Status.IsReady() && strings.Contains(message, "1 dependent found")
	})
	if count := r.requests.Count(func(request testenv.Request) bool { return request.Name == "migration" && request.IsWrite() }); count > 0 {
		t.Errorf("want the migration not to run again, got\n%s", r.requests)
	}
	r.expectRecord(widget, 2)
}

// TestTransientFailuresAreNoLoss sees chunks that cannot be read for reasons that say nothing about them.
func TestTransientFailuresAreNoLoss(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	widget := r.widget("")
	r.create(widget)
	if err := r.saveInventory(r.recorder(testenv.Config(t)), inventoryOf(60, "a")); err != nil {
		t.Fatal(err)
	}
	for _, failure := range []error{
		apierrors.NewForbidden(corev1.Resource("configmaps"), "a", errors.New("not now")),
		apierrors.NewInternalError(errors.New("not now")), context.DeadlineExceeded,
	} {
		w := r.recorder(testenv.Config(t))
		w.resource.Live = failingReader{w.resource.Live, failure}
		s := r.begin(w, widget)
		o := s.recall(t.Context())
		if o.Kind != outcomes.Error || !errors.Is(o.Err, failure) || s.record.Gap() != "" {
			t.Errorf("%v: want an error that is tried again, got %+v, %q", failure, o, s.record.Gap())
		}
		// The end of such a pass leaves the record alone.
		version := r.begin(w, widget).status.InventoryRecord.Checksum
		if _, err := s.conclude(t.Context(), s.keepRecord(t.Context(), o)); !errors.Is(err, failure) {
			t.Errorf("want the error to be returned, got %v", err)
		}
		diff(t, "record", version, r.begin(w, widget).status.InventoryRecord.Checksum)
		diff(t, "items", 60, len(r.recorded(widget)))
	}
}

type failingReader struct {
	client.Reader
	err error
}

func (f failingReader) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	if _, ok := object.(*corev1.ConfigMap); ok {
		return f.err
	}
	return f.Reader.Get(ctx, key, object, options...)
}

// TestDeletionOfTheNamespace takes chunks and dependents away at once; the chunks stay until the dependents are gone.
func TestDeletionOfTheNamespace(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	elsewhere := testenv.Namespace(t)
	stop := r.start(r.crowdReconciler())
	widget := r.crowded(crowd{count: 60, namespace: elsewhere})
	r.create(widget)
	awaitReady(r, widget)
	r.settle(widget)
	r.expectRecord(widget, 60)
	chunks := len(r.chunks())
	member := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: elsewhere, Name: "member-0007"}}
	change(r, member, func(c *corev1.ConfigMap) { controllerutil.AddFinalizer(c, "other.example.io/finalizer") })
	r.settle(widget)
	r.delete(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: r.namespace}})
	testenv.Eventually(t, func() (bool, string) {
		left := len(r.members(elsewhere))
		return left == 1, fmt.Sprintf("%d dependents are left", left)
	})
	r.settle(widget)
	diff(t, "chunks while a dependent is left", chunks, len(r.chunks()))
	// Also the next process can read them.
	stop()
	r.start(r.crowdReconciler())
	r.settle(widget)
	diff(t, "state", StateDeleting, widget.Status.State)
	change(r, member, func(c *corev1.ConfigMap) { controllerutil.RemoveFinalizer(c, "other.example.io/finalizer") })
	r.awaitGone(widget)
	diff(t, "what is left", []int{0, 0}, []int{len(r.chunks()), len(r.members(elsewhere))})
}

// TestKindsThatCannotBeListed sees a lost inventory of which a part stays unknown.
func TestKindsThatCannotBeListed(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.script.result = reconciler.Result{Done: true, Inventory: deployed("web")}
	_, _, _ = s.pass()
	s.wipe(s.widget)
	s.script.rebuilt = reconciler.RebuildResult{Inventory: deployed("web"), Unlisted: []reconciler.TypeInfo{{Kind: "Secret"}}}
	got, _, err := s.pass()
	const unknown = "; dependents of these kinds may be unrecorded, because they cannot be listed: Secret"
	if err != nil || got.state != StateReady || !strings.Contains(got.message, "1 dependent found") || !strings.HasSuffix(got.message, unknown) {
		t.Fatalf("want an explanation, got %+v, %v", got, err)
	}
	if !slices.ContainsFunc(s.drain(), func(event string) bool {
		return strings.HasPrefix(event, "Warning InventoryRebuilt The inventory was rebuilt from labels because the status was empty, 1 dependent found") &&
			strings.HasSuffix(event, "; not listed: Secret")
	}) {
		t.Error("want an event")
	}
	// It is tried again now and then.
	again, _, _ := s.pass()
	diff(t, "message", got.message, again.message)
	diff(t, "attempts", 1, len(s.script.rebuilds))
	s.script.rebuilt.Inventory = nil
	s.clock.Step(11 * time.Minute)
	_, _, _ = s.pass()
	diff(t, "attempts", 2, len(s.script.rebuilds))
	diff(t, "types of the second attempt", []reconciler.TypeVersionInfo{{Version: "*", Kind: "Secret"}}, s.script.rebuilds[1].Types)

	s.delete(s.widget)
	s.script.result = reconciler.Result{Done: true}
	for range 2 {
		got, delay, err := s.pass()
		if err != nil || got.state != StateDeletionPending || delay < outcomes.MissingDelay || !strings.HasSuffix(got.message, unknown) ||
			!strings.Contains(got.message, s.name+`/abandon-target of the component to "true"`) {
			t.Fatalf("want the deletion to wait, got %+v after %s, %v", got, delay, err)
		}
	}
	_ = s.drain()
	change(s.rig, s.widget, func(w *Widget) { metav1.SetMetaDataAnnotation(&w.ObjectMeta, s.name+"/abandon-target", "true") })
	_, _, _ = s.pass()
	s.awaitGone(s.widget)
	diff(t, "events", []string{"Warning Abandoned Dependents of these kinds may be abandoned, because they cannot be listed: Secret"}, s.drain())
}

// TestAFailedRebuildIsNoAnswer must neither apply nor delete.
func TestAFailedRebuildIsNoAnswer(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.script.result = reconciler.Result{Done: true, Inventory: deployed("web")}
	_, _, _ = s.pass()
	s.wipe(s.widget)
	s.script.rebuildErr = errors.New("nobody answers")
	got, _, err := s.pass()
	if !errors.Is(err, s.script.rebuildErr) || got.message != "Rebuilding the inventory: nobody answers" {
		t.Errorf("want the failure to be reported, got %+v, %v", got, err)
	}
	s.delete(s.widget)
	if got, _, err = s.pass(); !errors.Is(err, s.script.rebuildErr) || got.state != StateError {
		t.Errorf("want the deletion to wait, got %+v, %v", got, err)
	}
	s.script.rebuildErr, s.script.result = nil, reconciler.Result{Done: true}
	_, _, _ = s.pass()
	s.awaitGone(s.widget)
}
