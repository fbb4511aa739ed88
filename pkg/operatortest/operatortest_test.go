// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package operatortest_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	parceloperator "github.com/component-operator/runtime/examples/parcel-operator"
	"github.com/component-operator/runtime/examples/parcel-operator/api/v1alpha1"
	"github.com/component-operator/runtime/pkg/component"
	"github.com/component-operator/runtime/pkg/operatortest"
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
	cluster.Delete(t, service)
	cluster.WaitGone(t, service)
	if err := cluster.Client().Get(t.Context(), client.ObjectKeyFromObject(deployment), deployment); !apierrors.IsNotFound(err) {
		t.Errorf("want the dependents to be gone with the component, got %v", err)
	}
}

// TestFilesAreApplied takes objects from a file, without a Go type.
func TestFilesAreApplied(t *testing.T) {
	t.Parallel()
	cluster := operatortest.Start(t, operatortest.Options{Definitions: definitions})
	objects := operatortest.File(t, "testdata/objects.yaml")
	for _, object := range objects {
		cluster.Apply(t, object)
	}
	configMap := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "greeting"}}
	cluster.Get(t, configMap)
	if diff := cmp.Diff(map[string]string{"text": "hello"}, configMap.Data); diff != "" {
		t.Errorf("unexpected content:\n%s", diff)
	}
	cluster.Delete(t, configMap)
	cluster.WaitGone(t, configMap)
}

// TestMessages lets tests fail and looks at what they say.
func TestMessages(t *testing.T) {
	t.Setenv("TEST_PATIENCE", "2s")
	for name, row := range map[string]struct {
		test func(tb testing.TB)
		want []string
	}{
		"a component that is suspended": {
			func(tb testing.TB) {
				tb.Helper()
				cluster := start(tb)
				service := parcelService()
				service.Spec.Suspend = true
				cluster.Apply(tb, service)
				cluster.WaitReady(tb, service)
			},
			[]string{
				"ParcelService", "still not so after", "the component is ready", "state: Pending (Suspended)", "conditions:", "Ready=", "log of the operator:",
			},
		},
		"a component whose deletion is blocked": {
			func(tb testing.TB) {
				tb.Helper()
				cluster := start(tb)
				service := parcelService()
				// It is suspended, so that it has no dependents, but deleted by the operator, because it has its finalizer.
				service.Spec.Suspend = true
				service.Finalizers = []string{parceloperator.Name, "example.io/keep"}
				cluster.Apply(tb, service)
				tb.Cleanup(func() {
					cluster.Tamper(tb, service, func() {
						service.Finalizers = slices.DeleteFunc(service.Finalizers, func(name string) bool { return name == "example.io/keep" })
					})
				})
				cluster.Delete(tb, service)
				cluster.WaitGone(tb, service)
			},
			[]string{"state: Deleting (DeletionBlocked): Deletion blocked by finalizers: example.io/keep\nconditions:"},
		},
		"a component that does not exist": {
			func(tb testing.TB) {
				tb.Helper()
				start(tb).WaitReady(tb, parcelService())
			},
			[]string{"ParcelService", "it does not exist"},
		},
		"an object that stays": {
			func(tb testing.TB) {
				tb.Helper()
				cluster := start(tb)
				configMap := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "stays"}}
				cluster.Apply(tb, configMap)
				cluster.WaitGone(tb, configMap)
			},
			[]string{"ConfigMap", "stays exists\nlog of the operator:"}, // it has no state
		},
		"an operator that ends": {
			func(tb testing.TB) {
				tb.Helper()
				cluster := operatortest.Start(tb, operatortest.Options{Definitions: definitions, Setup: func(mgr ctrl.Manager) error {
					return errors.Join(v1alpha1.AddToScheme(mgr.GetScheme()),
						mgr.Add(manager.RunnableFunc(func(context.Context) error { return errors.New("out of order") })))
				}})
				cluster.WaitReady(tb, parcelService())
			},
			[]string{"the operator ended", "out of order", "the component is ready: this can no longer happen"},
		},
		"a folder without definitions": {
			func(tb testing.TB) {
				tb.Helper()
				operatortest.Start(tb, operatortest.Options{Definitions: "testdata/empty"})
			},
			[]string{"testdata/empty"},
		},
		"a chart that does not exist": {
			func(tb testing.TB) {
				tb.Helper()
				operatortest.Start(tb, operatortest.Options{Chart: "testdata/none"})
			},
			[]string{"loading the chart of the operator"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			recorded := record(t, row.test)
			for _, want := range row.want {
				if !strings.Contains(recorded, want) {
					t.Errorf("want a message with %q, got:\n%s", want, recorded)
				}
			}
		})
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
