// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package operatortest_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/component"
	"github.com/component-operator/runtime/pkg/generator"
	"github.com/component-operator/runtime/pkg/operatortest"
	"github.com/component-operator/runtime/pkg/types"
)

// widget is a component.
type widget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Status            component.Status `json:"status,omitempty"`
}

func (*widget) GetSpec() types.Unstructurable    { return types.UnstructurableMap{} }
func (w *widget) GetStatus() *component.Status   { return &w.Status }
func (w *widget) DeepCopyObject() runtime.Object { return w.copied() }
func (w *widget) copied() *widget {
	copied := &widget{TypeMeta: w.TypeMeta, ObjectMeta: *w.ObjectMeta.DeepCopy()}
	w.Status.DeepCopyInto(&copied.Status)
	return copied
}

// fleet is a cluster-scoped component.
type fleet struct{ widget }

func (f *fleet) DeepCopyObject() runtime.Object { return &fleet{*f.copied()} }

type widgetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []widget `json:"items"`
}

func (l *widgetList) DeepCopyObject() runtime.Object {
	copied := &widgetList{TypeMeta: l.TypeMeta, ListMeta: *l.ListMeta.DeepCopy()}
	for i := range l.Items {
		copied.Items = append(copied.Items, *l.Items[i].copied())
	}
	return copied
}

type fleetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []fleet `json:"items"`
}

func (l *fleetList) DeepCopyObject() runtime.Object {
	copied := &fleetList{TypeMeta: l.TypeMeta, ListMeta: *l.ListMeta.DeepCopy()}
	for i := range l.Items {
		copied.Items = append(copied.Items, fleet{*l.Items[i].copied()})
	}
	return copied
}

const (
	widgets = "widgets.limited.example.org"
	fleets  = "fleets.limited.example.org"
)

// endless returns a Job that does not end, and whose outcome matters.
func endless(reconciler, namespace string) generator.Generator {
	return generator.Func(func(_ context.Context, _, name string, _ types.Unstructurable) ([]client.Object, error) {
		job := &batchv1.Job{
			TypeMeta:   metav1.TypeMeta{APIVersion: "batch/v1", Kind: "Job"},
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Annotations: map[string]string{reconciler + "/" + types.AnnotationKeySuffixPurgeOrder: "1"}},
		}
		job.Spec.Suspend = new(true)
		job.Spec.Template.Spec = corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "main", Image: "none"}}}
		return []client.Object{job}, nil
	})
}

// startLimited runs an operator that may not delete anything. The dependents of fleets are in the given namespace.
func startLimited(tb testing.TB, elsewhere string) *operatortest.Cluster {
	tb.Helper()
	return operatortest.Start(tb, operatortest.Options{
		Chart: "testdata/limited",
		Setup: func(mgr ctrl.Manager) error {
			gv := schema.GroupVersion{Group: "limited.example.org", Version: "v1"}
			for kind, object := range map[string]runtime.Object{"Widget": &widget{}, "WidgetList": &widgetList{}, "Fleet": &fleet{}, "FleetList": &fleetList{}} {
				mgr.GetScheme().AddKnownTypeWithName(gv.WithKind(kind), object)
			}
			metav1.AddToGroupVersion(mgr.GetScheme(), gv)
			if err := component.NewReconciler[*widget](widgets, endless(widgets, ""), component.ReconcilerOptions{}).SetupWithManager(mgr); err != nil {
				return err
			}
			options := component.ReconcilerOptions{Finalizer: new("example.org/fleet")}
			return component.NewReconciler[*fleet](fleets, endless(fleets, elsewhere), options).SetupWithManager(mgr)
		},
	})
}

// TestNamespaceGoesAwayAfterAFailure has an operator that cannot delete what it has made.
func TestNamespaceGoesAwayAfterAFailure(t *testing.T) {
	clnt := testenv.Client(t)
	elsewhere, theirs := testenv.Namespace(t), testenv.Namespace(t)
	name := testenv.UniqueName(t)
	var namespace string
	t.Setenv("TEST_PATIENCE", "20s")
	recorded := record(t, func(tb testing.TB) {
		tb.Helper()
		cluster := startLimited(tb, elsewhere)
		namespace = cluster.Namespace()
		// What others have made is as good as what the test has made, except for the namespace, or the test did not apply it.
		for _, object := range []client.Object{
			&widget{ObjectMeta: metav1.ObjectMeta{Namespace: theirs, Name: "sample", Finalizers: []string{widgets}}},
			&fleet{widget{ObjectMeta: metav1.ObjectMeta{Name: name + "-theirs"}}},
		} {
			if err := cluster.Client().Create(tb.Context(), object); err != nil {
				tb.Fatalf("creating %s: %v", object.GetName(), err)
			}
			// It outlives the test in the recorder.
			t.Cleanup(func() { dismiss(t, cluster.Client(), object) })
		}
		sample, ours := &widget{ObjectMeta: metav1.ObjectMeta{Name: "sample"}}, &fleet{widget{ObjectMeta: metav1.ObjectMeta{Name: name}}}
		kept := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "kept", Finalizers: []string{"example.org/keep"}}}
		cluster.Apply(tb, sample, ours, kept)
		for _, key := range []client.ObjectKey{{Namespace: namespace, Name: "sample"}, {Namespace: elsewhere, Name: name}, {Namespace: elsewhere, Name: name + "-theirs"}} {
			job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
			cluster.Eventually(tb, func() error {
				if err := cluster.Client().Get(tb.Context(), key, job); err != nil || len(job.Finalizers) == 0 {
					return fmt.Errorf("no finalizer on the Job of %s: %w", key, err)
				}
				return nil
			})
		}
		t.Setenv("TEST_PATIENCE", "1s")
		cluster.Delete(tb, sample)
		cluster.WaitGone(tb, sample)
	})
	t.Setenv("TEST_PATIENCE", "60s")
	for _, want := range []string{"Widget sample still exists after the test", "Fleet " + name + " still exists after the test"} {
		if !strings.Contains(recorded, want) {
			t.Errorf("want a message with %q, got:\n%s", want, recorded)
		}
	}

	kept := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "kept"}}
	if err := clnt.Get(t.Context(), client.ObjectKeyFromObject(kept), kept); err != nil || !slices.Equal(kept.Finalizers, []string{"example.org/keep"}) {
		t.Errorf("the finalizer of another controller was removed: %v, %v", kept.Finalizers, err)
	}
	dismiss(t, clnt, kept)
	gone := func(object client.Object) {
		t.Helper()
		testenv.Eventually(t, func() (bool, string) {
			err := clnt.Get(t.Context(), client.ObjectKeyFromObject(object), object)
			return apierrors.IsNotFound(err), fmt.Sprintf("%s is still there: %v", object.GetName(), err)
		})
	}
	gone(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
	gone(metadata("Fleet", "", name))
	for object, want := range map[*metav1.PartialObjectMetadata]string{
		metadata("Widget", theirs, "sample"): widgets, metadata("Fleet", "", name+"-theirs"): "example.org/fleet",
	} {
		if err := clnt.Get(t.Context(), client.ObjectKeyFromObject(object), object); err != nil || !slices.Equal(object.Finalizers, []string{want}) {
			t.Errorf("%s %s is not of the test: got finalizers %v, %v", object.Kind, object.Name, object.Finalizers, err)
		}
	}
	for job, want := range map[string]int{name: 0, name + "-theirs": 1} {
		found := &batchv1.Job{}
		if err := clnt.Get(t.Context(), client.ObjectKey{Namespace: elsewhere, Name: job}, found); err != nil || len(found.Finalizers) != want {
			t.Errorf("Job %s: want %d finalizers, got %v, %v", job, want, found.Finalizers, err)
		}
		dismiss(t, clnt, found)
	}
}

func metadata(kind, namespace, name string) *metav1.PartialObjectMetadata {
	object := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	object.SetGroupVersionKind(schema.GroupVersionKind{Group: "limited.example.org", Version: "v1", Kind: kind})
	return object
}

// dismiss deletes an object, whatever finalizers it has.
func dismiss(t *testing.T, clnt client.Client, object client.Object) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	err := clnt.Patch(ctx, object, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`)))
	if err == nil {
		err = clnt.Delete(ctx, object)
	}
	if client.IgnoreNotFound(err) != nil {
		t.Errorf("deleting %s: %v", object.GetName(), err)
	}
}
