// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/examples/kubebuilder-operator/api/v1alpha1"
	"github.com/component-operator/runtime/pkg/component"
	"github.com/component-operator/runtime/pkg/generator"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/types"
)

// Name identifies the operator in clusters: it is the prefix of labels and annotations, and the field manager.
const Name = "guestbook.webapp.example.io"

// What the reconciler needs for components.
// +kubebuilder:rbac:groups=webapp.example.io,resources=guestbooks,verbs=get;list;watch;update;patch
// +kubebuilder:rbac:groups=webapp.example.io,resources=guestbooks/status;guestbooks/finalizers,verbs=get;update;patch
// +kubebuilder:rbac:groups="",resources=events,verbs=create;patch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
// +kubebuilder:rbac:groups="",resources=configmaps;secrets,verbs=get;list;watch;create;update;patch;delete
// +kubebuilder:rbac:groups="",resources=namespaces,verbs=get;list;watch;create

// Leader election.
// +kubebuilder:rbac:groups=coordination.k8s.io,namespace=system,resources=leases,verbs=get;create;update

// What it needs for dependents.
// +kubebuilder:rbac:groups="",resources=services,verbs=get;list;watch;create;update;patch;delete
// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=get;list;watch;create;update;patch;delete

// GuestbookReconciler reconciles guestbooks. Its zero value is ready for use.
type GuestbookReconciler struct{}

// SetupWithManager adds the controller to the manager.
func (*GuestbookReconciler) SetupWithManager(mgr ctrl.Manager) error {
	return component.NewReconciler[*v1alpha1.Guestbook](Name, generator.Func(generate), component.ReconcilerOptions{
		AdoptionPolicy: new(reconciler.AdoptionPolicyNever),
	}).WithPreReconcileHook(check).SetupWithManager(mgr)
}

// check refuses what the schema of guestbooks cannot.
func check(_ context.Context, _ client.Client, guestbook *v1alpha1.Guestbook) error {
	if len(guestbook.Name) > 40 {
		return fmt.Errorf("metadata.name has %d characters; must be no more than 40", len(guestbook.Name))
	}
	return nil
}

// generate returns the objects that a guestbook stands for. It replaces the body of Reconcile.
func generate(_ context.Context, namespace, name string, parameters types.Unstructurable) ([]client.Object, error) {
	values := parameters.ToUnstructured()
	image, _ := values["image"].(string)
	replicas, _ := values["replicas"].(int64)
	metadata := metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"app": name}}
	return []client.Object{
		&appsv1.Deployment{
			ObjectMeta: metadata,
			Spec: appsv1.DeploymentSpec{
				Replicas: new(int32(replicas)),
				Selector: &metav1.LabelSelector{MatchLabels: metadata.Labels},
				Template: corev1.PodTemplateSpec{
					ObjectMeta: metav1.ObjectMeta{Labels: metadata.Labels},
					Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: image}}},
				},
			},
		},
		&corev1.Service{
			ObjectMeta: metadata,
			Spec: corev1.ServiceSpec{
				Selector: metadata.Labels,
				Ports:    []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(8080)}},
			},
		},
	}, nil
}
