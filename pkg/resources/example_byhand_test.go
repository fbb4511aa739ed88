// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package resources_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/Masterminds/semver/v3"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

// What follows is examples/bookshop-operator on controller-runtime alone: a Service, and web servers that need its address, with the same versions, features, suspension and condition.

// [by-hand]

const fieldOwner = "bookshop.example.io"

// bookshops reconciles bookshops.
type bookshops struct{ client.Client }

func (r *bookshops) setup(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).For(&Bookshop{}).Owns(&corev1.Service{}).Owns(&appsv1.Deployment{}).Complete(r)
}

// [by-hand-reconcile]

func (r *bookshops) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	shop := &Bookshop{}
	if err := r.Get(ctx, request.NamespacedName, shop); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !shop.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, nil // The garbage collector deletes what the shop owns.
	}
	before := shop.DeepCopy()
	state, err := r.apply(ctx, shop)
	if err != nil {
		state = health{reason: "Error", message: err.Error()}
	}
	wait := shop.setAvailable(state, time.Now())
	if !equality.Semantic.DeepEqual(before.Status, shop.Status) {
		err = errors.Join(err, r.Status().Patch(ctx, shop, client.MergeFrom(before)))
	}
	return ctrl.Result{RequeueAfter: wait}, err
}

// apply brings the objects of a shop to what its spec says, as far as possible, and returns how they are.
func (r *bookshops) apply(ctx context.Context, shop *Bookshop) (health, error) {
	if shop.Spec.Suspend {
		err := r.Get(ctx, client.ObjectKeyFromObject(shop), &appsv1.Deployment{})
		if apierrors.IsNotFound(err) {
			return health{ready: true, reason: "Suspended"}, nil
		}
	}
	frontend := shop.service()
	if err := r.write(ctx, shop, frontend); err != nil {
		return health{}, err
	}
	address := addressOf(frontend)
	if address == "" && !shop.Spec.Suspend {
		return health{reason: "Blocked", message: "waiting for the address of the Service", grade: "Down"}, nil
	}
	web, err := shop.deployment(address)
	if err != nil {
		return health{}, err
	}
	if err := r.write(ctx, shop, web); err != nil {
		return health{}, err
	}
	return healthOf(web, shop.Spec.Suspend), nil
}

// write applies an object that a shop owns. Then the object is as the API server has it.
func (r *bookshops) write(ctx context.Context, shop *Bookshop, object client.Object) error {
	gvk, err := r.GroupVersionKindFor(object)
	if err != nil {
		return err
	}
	object.GetObjectKind().SetGroupVersionKind(gvk)
	if err := controllerutil.SetControllerReference(shop, object, r.Scheme()); err != nil {
		return err
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return err
	}
	unstructured.RemoveNestedField(content, "status")
	manifest := &unstructured.Unstructured{Object: content}
	if err := r.Apply(ctx, client.ApplyConfigurationFromUnstructured(manifest), client.FieldOwner(fieldOwner), client.ForceOwnership); err != nil {
		return fmt.Errorf("applying %s %s: %w", gvk.Kind, object.GetName(), err)
	}
	return runtime.DefaultUnstructuredConverter.FromUnstructured(manifest.Object, object)
}

// [end]

func (s *Bookshop) labels() map[string]string {
	return map[string]string{"app.kubernetes.io/name": "bookshop", "app.kubernetes.io/instance": s.Name}
}

func (s *Bookshop) service() *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: s.Name},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, Selector: s.labels(), Ports: []corev1.ServicePort{{Name: "http", Port: 80}}},
	}
}

// addressOf returns the name under which a Service is reachable from outside; empty if it has none.
func addressOf(service *corev1.Service) string {
	for _, ingress := range service.Status.LoadBalancer.Ingress {
		if ingress.Hostname != "" {
			return ingress.Hostname
		}
	}
	return ""
}

// deployment returns the web servers.
func (s *Bookshop) deployment(address string) (*appsv1.Deployment, error) {
	version, err := semver.NewVersion(s.Spec.Version)
	if err != nil {
		return nil, fmt.Errorf("version %q: %w", s.Spec.Version, err)
	}
	web := corev1.Container{Name: "web", Image: "example.io/bookshop:" + s.Spec.Version, Env: []corev1.EnvVar{{Name: "ADDRESS", Value: address}}}
	containers := []corev1.Container{web}
	if version.Major() < 2 {
		containers[0].Args = append(containers[0].Args, "--store=/var/lib/bookshop")
	} else {
		containers[0].Args = append(containers[0].Args, "--search")
		if s.Spec.Cache {
			containers = append(containers, corev1.Container{Name: "cache", Image: "example.io/cache:1"})
		}
	}
	if s.Spec.Tracing != "" {
		for i := range containers {
			containers[i].Env = append(containers[i].Env, corev1.EnvVar{Name: "TRACES_TO", Value: s.Spec.Tracing})
		}
	}
	replicas := s.Spec.Replicas
	if s.Spec.Suspend {
		replicas = 0
	}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: s.Name, Labels: s.labels()},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: s.labels()},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: s.labels()}, Spec: corev1.PodSpec{Containers: containers}},
		},
	}, nil
}

// health is how the objects of a shop are.
type health struct {
	ready           bool
	reason, message string
	grade           string // counts instead of the reason when the grace period is over; may be empty
}

// healthOf returns how the web servers are.
func healthOf(web *appsv1.Deployment, suspended bool) health {
	desired, status := ptr.Deref(web.Spec.Replicas, 1), web.Status
	observed := status.ObservedGeneration >= web.Generation
	if suspended {
		if observed && status.Replicas == 0 {
			return health{ready: true, reason: "Suspended"}
		}
		return health{reason: "Suspending", message: fmt.Sprintf("%d replicas are left", status.Replicas)}
	}
	grade := "Degraded"
	switch status.ReadyReplicas {
	case desired:
		grade = ""
	case 0:
		grade = "Down"
	}
	if observed && status.ReadyReplicas == desired && status.UpdatedReplicas == desired && status.Replicas == desired {
		return health{ready: true, reason: "Healthy"}
	}
	for _, c := range status.Conditions {
		stuck := c.Type == appsv1.DeploymentProgressing && c.Status == corev1.ConditionFalse && c.Reason == "ProgressDeadlineExceeded"
		if observed && (stuck || c.Type == appsv1.DeploymentReplicaFailure && c.Status == corev1.ConditionTrue) {
			return health{reason: "Failing", message: c.Reason + ": " + c.Message, grade: grade}
		}
	}
	state := health{reason: "Updating", message: fmt.Sprintf("%d/%d replicas are ready, %d updated", status.ReadyReplicas, desired, status.UpdatedReplicas), grade: grade}
	switch {
	case web.Generation <= 1:
		state.reason = "Creating"
	case observed && status.ReadyReplicas != desired:
		state.reason = "Scaling"
	}
	return state
}

const gracePeriod = 5 * time.Minute

// setAvailable sets the condition, and returns the time after which it may change by itself; zero if it does not.
func (s *Bookshop) setAvailable(state health, now time.Time) (wait time.Duration) {
	status := metav1.ConditionFalse
	changed := s.Status.ObservedGeneration != s.Generation
	s.Status.ObservedGeneration = s.Generation
	switch {
	case state.ready:
		status, s.Status.UnreadySince = metav1.ConditionTrue, nil
	case s.Status.UnreadySince == nil || changed:
		s.Status.UnreadySince = &metav1.Time{Time: now}
	}
	if state.grade != "" {
		if wait = s.Status.UnreadySince.Add(gracePeriod).Sub(now); wait <= 0 {
			state.reason, wait = state.grade, 0
		}
	}
	apimeta.SetStatusCondition(&s.Status.Conditions, metav1.Condition{
		Type: "Available", Status: status, Reason: state.reason, Message: state.message, ObservedGeneration: s.Generation,
	})
	return wait
}

// [end]

// Bookshop is that of examples/bookshop-operator, with a status of its own.
type Bookshop struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   BookshopSpec   `json:"spec,omitempty"`
	Status BookshopStatus `json:"status,omitempty"`
}

// BookshopSpec is the desired state of a Bookshop.
type BookshopSpec struct {
	Suspend  bool   `json:"suspend,omitempty"`
	Version  string `json:"version"`
	Replicas int32  `json:"replicas,omitempty"`
	Cache    bool   `json:"cache,omitempty"`
	Tracing  string `json:"tracing,omitempty"`
}

// BookshopStatus is how a Bookshop is.
type BookshopStatus struct {
	ObservedGeneration int64              `json:"observedGeneration,omitempty"`
	UnreadySince       *metav1.Time       `json:"unreadySince,omitempty"`
	Conditions         []metav1.Condition `json:"conditions,omitempty"`
}

// DeepCopyObject returns a copy.
func (s *Bookshop) DeepCopyObject() runtime.Object { return s.DeepCopy() }

// DeepCopy returns a copy.
func (s *Bookshop) DeepCopy() *Bookshop {
	copied := *s
	copied.ObjectMeta = *s.ObjectMeta.DeepCopy()
	copied.Status.Conditions = append([]metav1.Condition(nil), s.Status.Conditions...)
	return &copied
}

var _ = (*bookshops).setup

// Without typed resources: the same bookshop with a client that keeps objects in memory.
func Example_byHand() {
	shop := &Bookshop{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "corner", Generation: 1}, Spec: BookshopSpec{Version: "2.0.0", Replicas: 2, Cache: true}}
	scheme := runtime.NewScheme()
	scheme.AddKnownTypes(schema.GroupVersion{Group: "bookshop.example.io", Version: "v1"}, &Bookshop{})
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		fmt.Println(err)
	}
	clnt := fake.NewClientBuilder().WithScheme(scheme).WithObjects(shop).WithStatusSubresource(shop, &appsv1.Deployment{}, &corev1.Service{}).Build()
	ctx, key := context.Background(), client.ObjectKeyFromObject(shop)
	reconcile := func() {
		if _, err := (&bookshops{clnt}).Reconcile(ctx, ctrl.Request{NamespacedName: key}); err != nil {
			fmt.Println(err)
		}
		if err := clnt.Get(ctx, key, shop); err != nil {
			fmt.Println(err)
		}
		c := shop.Status.Conditions[0]
		fmt.Println(strings.TrimSpace(fmt.Sprint(c.Status, " ", c.Reason, " ", c.Message)))
	}
	change := func(object client.Object, change func(), write func(context.Context, client.Object) error) {
		if err := clnt.Get(ctx, key, object); err != nil {
			fmt.Println(err)
		}
		change()
		if err := write(ctx, object); err != nil {
			fmt.Println(err)
		}
		reconcile()
	}
	status := func(ctx context.Context, object client.Object) error { return clnt.Status().Update(ctx, object) }

	reconcile()
	frontend, web := &corev1.Service{}, &appsv1.Deployment{}
	change(frontend, func() {
		frontend.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{Hostname: "shop.example.org"}}
	}, status)
	change(web, func() { web.Status.Replicas, web.Status.UpdatedReplicas, web.Status.ReadyReplicas = 2, 2, 2 }, status)
	change(shop, func() { shop.Spec.Suspend = true }, func(ctx context.Context, object client.Object) error { return clnt.Update(ctx, object) })
	change(web, func() { web.Status = appsv1.DeploymentStatus{} }, status)
	for _, container := range web.Spec.Template.Spec.Containers {
		fmt.Println(container.Name, container.Image, container.Args, container.Env)
	}
	// Output:
	// False Blocked waiting for the address of the Service
	// False Creating 0/2 replicas are ready, 0 updated
	// True Healthy
	// False Suspending 2 replicas are left
	// True Suspended
	// web example.io/bookshop:2.0.0 [--search] [{ADDRESS shop.example.org nil}]
	// cache example.io/cache:1 [] []
}
