// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package operatortest_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	parceloperator "github.com/component-operator/runtime/examples/parcel-operator"
	"github.com/component-operator/runtime/examples/parcel-operator/api/v1alpha1"
	"github.com/component-operator/runtime/pkg/component"
	"github.com/component-operator/runtime/pkg/generator"
	"github.com/component-operator/runtime/pkg/operatortest"
	"github.com/component-operator/runtime/pkg/types"
)

// definitions are those of the operator under test.
const definitions = "../../examples/parcel-operator/crds"

// start runs the parcel operator.
func start(tb testing.TB) *operatortest.Cluster {
	tb.Helper()
	return operatortest.Start(tb, operatortest.Options{
		Definitions: definitions,
		Setup: func(mgr ctrl.Manager) error {
			if err := v1alpha1.AddToScheme(mgr.GetScheme()); err != nil {
				return err
			}
			return parceloperator.SetupWithManager(mgr, component.ReconcilerOptions{})
		},
	})
}

func parcelService() *v1alpha1.ParcelService {
	return &v1alpha1.ParcelService{ObjectMeta: metav1.ObjectMeta{Name: "main"}, Spec: v1alpha1.ParcelServiceSpec{Region: "north"}}
}

// failures records what a test would report.
type failures struct {
	testing.TB

	texts []string
}

func (f *failures) Errorf(format string, args ...any) {
	f.texts = append(f.texts, fmt.Sprintf(format, args...))
}

// TestRestlessGenerator has a generator that returns something else each time.
func TestRestlessGenerator(t *testing.T) {
	t.Parallel()
	var calls atomic.Int64
	restless := generator.Func(func(context.Context, string, string, types.Unstructurable) ([]client.Object, error) {
		object := &corev1.ConfigMap{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, ObjectMeta: metav1.ObjectMeta{Name: "password"}}
		object.Data = map[string]string{"call": fmt.Sprint(calls.Add(1))}
		return []client.Object{object}, nil
	})
	cluster := operatortest.Start(t, operatortest.Options{Definitions: definitions, Setup: func(mgr ctrl.Manager) error {
		if err := v1alpha1.AddToScheme(mgr.GetScheme()); err != nil {
			return err
		}
		return component.NewReconciler[*v1alpha1.ParcelService]("restless.example.io", restless, component.ReconcilerOptions{}).SetupWithManager(mgr)
	}})
	service := parcelService()
	cluster.Apply(t, service)
	cluster.WaitReady(t, service)
	found := &failures{TB: t}
	cluster.ExpectNoChanges(found)
	want := fmt.Sprintf("ParcelService %s/main is ready, but the operator would change it again: ConfigMap %[1]s/password is updated: ", cluster.Namespace())
	if len(found.texts) != 1 || !strings.HasPrefix(found.texts[0], want) {
		t.Errorf("got %q, want %q", found.texts, want)
	}
}

// TestLife goes with a component from its creation to its deletion.
func TestLife(t *testing.T) {
	t.Parallel()
	cluster := start(t)
	service := parcelService()
	cluster.Apply(t, service)
	if service.Namespace != cluster.Namespace() || service.UID == "" {
		t.Errorf("want the applied object as it is in the cluster, got %v", service.ObjectMeta)
	}
	cluster.WaitReady(t, service)
	if !service.Status.IsReady() {
		t.Errorf("want the ready component, got %v", service.Status)
	}

	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "main-api"}}
	cluster.Tamper(t, deployment, func() { deployment.Spec.Replicas = new(int32(0)) })
	cluster.Eventually(t, func() error {
		cluster.Get(t, deployment)
		if *deployment.Spec.Replicas == 0 {
			return errors.New("the operator has not corrected the number of replicas")
		}
		return nil
	})

	service.Spec.API.Replicas = 3
	cluster.Apply(t, service)
	cluster.WaitReady(t, service)
	if service.Status.Revision != 2 {
		t.Errorf("want revision 2, got %d", service.Status.Revision)
	}
	cluster.ExpectNoChanges(t)
	cluster.Delete(t, service)
	cluster.WaitGone(t, service)
	if err := cluster.Client().Get(t.Context(), client.ObjectKeyFromObject(deployment), deployment); !apierrors.IsNotFound(err) {
		t.Errorf("want the dependents to be gone with the component, got %v", err)
	}
}

// recorder is a test that fails without harm.
type recorder struct {
	testing.TB
	messages strings.Builder
	cleanups []func()
}

func (r *recorder) Helper() {}

func (r *recorder) Errorf(format string, arguments ...any) {
	fmt.Fprintf(&r.messages, format+"\n", arguments...)
}

func (r *recorder) Logf(format string, arguments ...any) { r.Errorf(format, arguments...) }

func (r *recorder) Fatalf(format string, arguments ...any) {
	r.Errorf(format, arguments...)
	runtime.Goexit()
}

func (r *recorder) Cleanup(cleanup func()) { r.cleanups = append(r.cleanups, cleanup) }

// record returns the messages of a failing test.
func record(t *testing.T, test func(tb testing.TB)) string {
	t.Helper()
	recorder := &recorder{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		test(recorder)
	}()
	<-done
	for i := len(recorder.cleanups) - 1; i >= 0; i-- {
		recorder.cleanups[i]()
	}
	return recorder.messages.String()
}
