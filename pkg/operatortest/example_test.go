// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package operatortest_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/randfill"

	parceloperator "github.com/component-operator/runtime/examples/parcel-operator"
	"github.com/component-operator/runtime/examples/parcel-operator/api/v1alpha1"
	"github.com/component-operator/runtime/pkg/component"
	"github.com/component-operator/runtime/pkg/operator"
	"github.com/component-operator/runtime/pkg/operatortest"
	"github.com/component-operator/runtime/pkg/reconciler"
)

// The examples are lines of tests: t is the parameter of the test, cluster is what Start returned, and service is a component.
var (
	t       *testing.T
	cluster *operatortest.Cluster
	service *v1alpha1.ParcelService
	parcels operator.Operator
)

// The operator has no other rights than its own chart gives it. If one is missing, the component does not become ready, and the test fails.
func ExampleStart() {
	cluster := operatortest.Start(t, operatortest.Options{
		Operators: []operator.Operator{parcels},
		Chart:     "../../chart",
		Values:    map[string]any{"rbac": map[string]any{"references": true}},
	})
	cluster.Apply(t, service)
	cluster.WaitReady(t, service)
}

// A reconciler can be tested before there is an operator or a chart.
func ExampleStart_reconciler() {
	cluster := operatortest.Start(t, operatortest.Options{
		Definitions: "../../examples/parcel-operator/crds",
		Setup: func(mgr ctrl.Manager) error {
			if err := v1alpha1.AddToScheme(mgr.GetScheme()); err != nil {
				return err
			}
			return parceloperator.SetupWithManager(mgr, component.ReconcilerOptions{})
		},
	})
	service := &v1alpha1.ParcelService{ObjectMeta: metav1.ObjectMeta{Name: "paused"}}
	service.Spec.Region = "north"
	service.Spec.Suspend = true
	cluster.Apply(t, service)
	cluster.WaitState(t, service, component.StatePending, component.ReadyConditionReasonSuspended)
}

// The API server accepts all objects of a file that users see.
func ExampleFile() {
	for _, object := range operatortest.File(t, "testdata/objects.yaml") {
		cluster.Apply(t, object)
	}
}

// A component comes with the Secret that it refers to.
func ExampleCluster_Apply() {
	password := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "database"}, StringData: map[string]string{"password": "secret"}}
	service.Spec.Database.PasswordSecretRef = &component.SecretKeyReference{Name: "database"}
	cluster.Apply(t, password, service)
}

// When the component is ready, so is its Deployment, in the size that was asked for.
func ExampleCluster_WaitReady() {
	service.Spec.API.Replicas = 3
	cluster.Apply(t, service)
	cluster.WaitReady(t, service)

	api := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "main-api"}}
	cluster.Get(t, api)
	if api.Status.ReadyReplicas != 3 {
		t.Errorf("the component is ready with %d of 3 pods", api.Status.ReadyReplicas)
	}
}

// The report is made every night.
func ExampleCluster_Get() {
	report := &batchv1.CronJob{ObjectMeta: metav1.ObjectMeta{Name: "main-report"}}
	cluster.Get(t, report)
	if report.Spec.Schedule != "15 3 * * *" {
		t.Errorf("unexpected schedule: %s", report.Spec.Schedule)
	}
}

// Somebody stops the API by hand, and the operator starts it again.
func ExampleCluster_Tamper() {
	api := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "main-api"}}
	cluster.Tamper(t, api, func() { api.Spec.Replicas = new(int32(0)) })
	cluster.Eventually(t, func() error {
		cluster.Get(t, api)
		if *api.Spec.Replicas == 0 {
			return errors.New("the API is still stopped")
		}
		return nil
	})
}

// A Service that somebody deletes comes back.
func ExampleCluster_Delete() {
	endpoint := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "main-api"}}
	cluster.Get(t, endpoint)
	deleted := endpoint.UID
	cluster.Delete(t, endpoint)
	cluster.Eventually(t, func() error {
		if err := cluster.Client().Get(t.Context(), client.ObjectKeyFromObject(endpoint), endpoint); err != nil {
			return err
		}
		if endpoint.UID == deleted {
			return errors.New("the Service is still there")
		}
		return nil
	})
}

// Users read in the events that the component is ready. Events are written in the background, so the test waits for that one.
func ExampleCluster_Eventually() {
	cluster.Eventually(t, func() error {
		events := &corev1.EventList{}
		if err := cluster.Client().List(t.Context(), events, client.InNamespace(service.Namespace)); err != nil {
			return err
		}
		for _, event := range events.Items {
			if event.InvolvedObject.UID == service.UID && event.Reason == component.ReadyConditionReasonReady {
				return nil
			}
		}
		return fmt.Errorf("none of %d events says that the component is ready", len(events.Items))
	})
}

// With a host, the service gets an Ingress.
func ExampleCluster_WaitFor() {
	service.Spec.Host = "parcels.example.com"
	cluster.Apply(t, service)
	cluster.WaitFor(t, service, "the Ingress is recorded", func(status *component.Status) bool {
		return slices.ContainsFunc(status.Inventory, func(item *reconciler.InventoryItem) bool { return item.Kind == "Ingress" })
	})
}

// Names of cluster-scoped objects contain the namespace, so that two services do not share them.
func ExampleCluster_Namespace() {
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: cluster.Namespace() + "-main-controller"}}
	cluster.Get(t, role)
}

// All workloads have the label by which dashboards select them.
func ExampleCluster_Client() {
	deployments := &appsv1.DeploymentList{}
	instance := client.MatchingLabels{"app.kubernetes.io/instance": service.Name}
	if err := cluster.Client().List(t.Context(), deployments, client.InNamespace(service.Namespace), instance); err != nil {
		t.Fatal(err)
	}
	if len(deployments.Items) != 2 {
		t.Errorf("want the Deployments of API and controller, got %d", len(deployments.Items))
	}
}

// The service was never in error, not even for a moment.
func ExampleCluster_Timeline() {
	for _, step := range cluster.Timeline(t, service) {
		if step.State == string(component.StateError) {
			t.Errorf("unexpected state: %s", step)
		}
	}
}

// At the end of a test that has done everything that users do, the chart allows what the operator did, and nothing else.
func ExampleCluster_Rights() {
	rights := cluster.Rights()
	if len(rights.Denied) > 0 || len(rights.Unused) > 0 {
		t.Errorf("the rights of the operator do not fit: denied %v, unused %v", rights.Denied, rights.Unused)
	}
}

// As long as a user has a route, the type of routes stays, and so does the service.
func ExampleCluster_WaitState() {
	route := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"service": "main", "stops": []any{"harbor"}}}}
	route.SetAPIVersion("parcel.example.io/v1")
	route.SetKind("DeliveryRoute")
	route.SetName("night")
	cluster.Apply(t, route)
	cluster.Delete(t, service)
	cluster.WaitState(t, service, component.StateDeleting, component.ReadyConditionReasonDeletionBlocked)

	cluster.Delete(t, route)
	cluster.WaitGone(t, service)
}

// With the service, its password is deleted.
func ExampleCluster_WaitGone() {
	cluster.Delete(t, service)
	cluster.WaitGone(t, service)
	cluster.WaitGone(t, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "main-credentials"}})
}

// One version of the API has minutes, the one that is stored has seconds. The filler chooses values that both can express.
func ExampleRoundTrip() {
	operatortest.RoundTrip(t, &oldClock{}, &clock{}, func(seconds *int, c randfill.Continue) { *seconds = 60 * c.Intn(1000) })
}

// TestExamples runs them, except those that need another operator.
func TestExamples(current *testing.T) {
	t, cluster, service = current, start(current), parcelService()
	for _, example := range []func(){
		ExampleStart_reconciler, ExampleFile, ExampleCluster_Apply, ExampleCluster_WaitReady, ExampleCluster_Get, ExampleCluster_Tamper, ExampleCluster_Delete,
		ExampleCluster_Eventually, ExampleCluster_WaitFor, ExampleCluster_WaitReady, ExampleCluster_Namespace, ExampleCluster_Client, ExampleCluster_Timeline,
		ExampleCluster_WaitState, ExampleRoundTrip,
	} {
		example()
	}
	service = parcelService()
	cluster.Apply(t, service)
	cluster.WaitReady(t, service)
	ExampleCluster_WaitGone()
}
