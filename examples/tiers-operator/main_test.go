// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/component"
	"github.com/component-operator/runtime/pkg/operatortest"
)

// life is an application in a cluster.
type life struct {
	*operatortest.Cluster

	t   *testing.T
	app *Application
}

// TestLife leads an application to its first version, through a rollout that fails and is repaired, to a second
// version, through a suspension, and to its deletion.
func TestLife(t *testing.T) {
	t.Parallel()
	l := life{Cluster: operatortest.Start(t, operatortest.Options{Definitions: "crds", Setup: setup}), t: t}
	l.app = &Application{
		ObjectMeta: metav1.ObjectMeta{Name: "app"},
		Spec:       ApplicationSpec{Version: "1.0.0", Host: "app.example.org", Storage: resource.MustParse("1Gi"), StorageClassName: l.Namespace()},
	}
	l.volume()
	l.Apply(t, l.app)
	l.WaitReady(t, l.app)
	l.runs("example.io/tiers:1.0.0 SCHEMA=1.0.0")
	if !l.migratedBefore() {
		t.Error("the web servers were created before the migration had ended")
	}

	// No node has this label. So the rollout stops: first it degrades the application, then it fails.
	l.WaitFor(t, l.app, "the autoscaler has made two web servers", func(*component.Status) bool { return l.ready() == 2 })
	l.app.Spec.NodeSelector = map[string]string{"nodes": "of-nobody"}
	l.Apply(t, l.app)
	l.available("False Degraded", "Component is degraded: Deployment "+l.Namespace()+"/app: Waiting for")
	l.available("False Degraded", "Component is degraded: Deployment "+l.Namespace()+"/app: failed: ProgressDeadlineExceeded: ")
	l.WaitFor(t, l.app, "the rollout has failed", func(status *component.Status) bool {
		_, _, message := status.GetState()
		return status.State == component.StateError && strings.Contains(message, "1 dependent failed: Deployment "+l.Namespace()+"/app: ProgressDeadlineExceeded: ")
	})
	l.app.Spec.NodeSelector = nil
	l.Apply(t, l.app)
	l.WaitReady(t, l.app)
	l.available("True Healthy", "")

	l.app.Spec.Version = "2.0.0"
	l.Apply(t, l.app)
	l.WaitReady(t, l.app)
	l.runs("example.io/tiers:2.0.0 SCHEMA=2.0.0")

	migration := l.migration()
	l.app.Spec.Presence = component.PresenceSuspended
	l.Apply(t, l.app)
	l.available("True Suspended", "")
	l.exist("ConfigMap Deployment Ingress Job NetworkPolicy PodDisruptionBudget Service StatefulSet")
	l.app.Spec.Presence = component.PresenceActive
	l.Apply(t, l.app)
	l.WaitReady(t, l.app)
	l.exist("ConfigMap Deployment HorizontalPodAutoscaler Ingress Job NetworkPolicy PodDisruptionBudget Service StatefulSet")

	if l.migration() != migration {
		t.Error("the migration ran again because of the suspension")
	}

	l.Delete(t, l.app)
	l.WaitGone(t, l.app)
	l.exist("")
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "data-app-database-0"}}
	l.Get(t, claim) // The data stay.
}

// volume makes a volume for the database, because there is no storage in the cluster.
func (l life) volume() {
	l.t.Helper()
	volume := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: l.Namespace()},
		Spec: corev1.PersistentVolumeSpec{
			Capacity: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			StorageClassName: l.Namespace(), PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
			PersistentVolumeSource: corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/data"}},
		},
	}
	if err := l.Client().Create(l.t.Context(), volume); err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() {
		if err := l.Client().Delete(context.WithoutCancel(l.t.Context()), volume); client.IgnoreNotFound(err) != nil {
			l.t.Error(err)
		}
	})
}

// migratedBefore reports whether the migration had ended before the web servers were created.
func (l life) migratedBefore() bool {
	migration, web := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "app-migration"}}, &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "app"}}
	l.Get(l.t, migration)
	l.Get(l.t, web)
	return migration.Status.CompletionTime != nil && !web.CreationTimestamp.Before(migration.Status.CompletionTime)
}

// ready returns the number of web servers that are ready.
func (l life) ready() int32 {
	web := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "app"}}
	l.Get(l.t, web)
	return web.Status.ReadyReplicas
}

// migration identifies the Job.
func (l life) migration() types.UID {
	l.t.Helper()
	migration := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "app-migration"}}
	l.Get(l.t, migration)
	return migration.UID
}

// available waits for the condition Available.
func (l life) available(want, message string) {
	l.t.Helper()
	l.WaitFor(l.t, l.app, want+" "+message, func(status *component.Status) bool {
		return slices.ContainsFunc(status.Conditions, func(condition component.Condition) bool {
			return condition.Type == "Available" && fmt.Sprintf("%s %s", condition.Status, condition.Reason) == want && strings.Contains(condition.Message, message)
		})
	})
}

// runs compares image and variables of the web servers.
func (l life) runs(want string) {
	l.t.Helper()
	web := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "app"}}
	l.Get(l.t, web)
	container := web.Spec.Template.Spec.Containers[0]
	got := container.Image
	for _, variable := range container.Env {
		got += " " + variable.Name + "=" + variable.Value
	}
	if diff := cmp.Diff(want, got); diff != "" {
		l.t.Errorf("(-want +got):\n%s", diff)
	}
}

// exist compares the kinds of the dependents that exist.
func (l life) exist(want string) {
	l.t.Helper()
	var kinds []string
	for kind, list := range map[string]client.ObjectList{
		"ConfigMap": &corev1.ConfigMapList{}, "Deployment": &appsv1.DeploymentList{}, "HorizontalPodAutoscaler": &autoscalingv2.HorizontalPodAutoscalerList{},
		"Ingress": &networkingv1.IngressList{}, "Job": &batchv1.JobList{}, "NetworkPolicy": &networkingv1.NetworkPolicyList{}, "PodDisruptionBudget": &policyv1.PodDisruptionBudgetList{},
		"Service": &corev1.ServiceList{}, "StatefulSet": &appsv1.StatefulSetList{},
	} {
		err := l.Client().List(l.t.Context(), list, client.InNamespace(l.Namespace()), client.MatchingLabels{"app.kubernetes.io/name": "tiers"})
		if err != nil && !apierrors.IsNotFound(err) {
			l.t.Fatal(err)
		}
		if meta.LenList(list) > 0 {
			kinds = append(kinds, kind)
		}
	}
	slices.Sort(kinds)
	if got := strings.Join(kinds, " "); got != want {
		l.t.Errorf("got %q, want %q", got, want)
	}
}
