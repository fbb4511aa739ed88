// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package resources_test

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/behaviors"
	"github.com/component-operator/runtime/pkg/resources"
	"github.com/component-operator/runtime/pkg/resources/concepts"
	"github.com/component-operator/runtime/pkg/resources/deployment"
	"github.com/component-operator/runtime/pkg/resources/editors"
	"github.com/component-operator/runtime/pkg/resources/job"
	"github.com/component-operator/runtime/pkg/resources/selectors"
	"github.com/component-operator/runtime/pkg/resources/service"
	"github.com/component-operator/runtime/pkg/types"
)

// rolledOut is webServers in a cluster, when its rollout is complete.
func rolledOut() *appsv1.Deployment {
	d := webServers()
	d.Status = appsv1.DeploymentStatus{Replicas: 1, UpdatedReplicas: 1, ReadyReplicas: 1}
	return d
}

// A status that asks for more than ready pods.
func Example_handler() {
	warm := func(op concepts.ConvergingOperation, d *appsv1.Deployment) (concepts.AliveStatusWithReason, error) {
		status, err := deployment.DefaultConvergingStatusHandler(op, d)
		if err == nil && status.IsConverged() && d.Annotations["shop.example.org/warm"] != "true" {
			status = concepts.AliveStatusWithReason{
				Status: concepts.AliveConvergingStatusUpdating, Reason: "Waiting until the cache is warm",
			}
		}
		return status, err
	}
	web, err := deployment.NewBuilder(webServers()).WithCustomConvergeStatus(warm).Build()
	if err != nil {
		fmt.Println(err)
	}
	if err := web.RecordObservation(rolledOut()); err != nil {
		fmt.Println(err)
	}
	status, err := web.ConvergingStatus(concepts.ConvergingOperationNone)
	fmt.Println(status.Status, status.Reason, err)
	// Output: Updating Waiting until the cache is warm <nil>
}

// The condition of a component.
func Example_condition() {
	generator := resources.NewGenerator(shop,
		resources.WithCondition("Available"),
		resources.WithGracePeriod(5*time.Minute),
	)
	fmt.Println(generator.Condition())
	// Output: Available
}

// A guard asks for more than data.
func Example_guard() {
	schema := concepts.NewData[int]("schema")
	web, err := deployment.NewBuilder(webServers()).
		WithOptionalData(schema).
		WithGuard(func(appsv1.Deployment) (concepts.GuardStatusWithReason, error) {
			if version, found := schema.Get(); !found || version < 7 {
				return concepts.GuardStatusWithReason{Status: concepts.GuardStatusBlocked, Reason: "schema 7 is not there yet"}, nil
			}
			return concepts.GuardStatusWithReason{Status: concepts.GuardStatusUnblocked}, nil
		}).Build()
	if err != nil {
		fmt.Println(err)
	}
	for _, version := range []int{6, 7} {
		schema.Set(version)
		fmt.Println(web.GuardStatus())
	}
	// Output:
	// {Blocked schema 7 is not there yet} <nil>
	// {Unblocked } <nil>
}

// reachable returns a Service, and web servers that know its address.
func reachable(_ context.Context, input resources.Input) ([]resources.Resource, error) {
	address := concepts.NewData[string]("address")
	frontend, err := service.NewBuilder(&corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: input.Namespace, Name: input.Name},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, Ports: []corev1.ServicePort{{Port: 80}}},
	}).WithData(concepts.Into(address, hostOf)).Build()
	if err != nil {
		return nil, err
	}
	known := deployment.Mutation{Name: "address", Mutate: func(m *deployment.Mutator) error {
		host, err := address.Require()
		m.EnsureContainerEnvVar(corev1.EnvVar{Name: "ADDRESS", Value: host})
		return err
	}}
	web, err := deployment.NewBuilder(webServers()).WithMutation(known).WithDataGuard(address).Build()
	if err != nil {
		return nil, err
	}
	return []resources.Resource{frontend, web}, nil
}

// hostOf returns the name under which a Service is reachable, and whether it has one.
func hostOf(s corev1.Service) (host string, found bool, err error) {
	for _, ingress := range s.Status.LoadBalancer.Ingress {
		if ingress.Hostname != "" {
			return ingress.Hostname, true, nil
		}
	}
	return "", false, nil
}

// withAddress is a Service that a cloud controller has given an address.
func withAddress() corev1.Service {
	s := corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
	s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{Hostname: "shop.example.org"}}
	return s
}

// Data that flow from one resource to another.
func Example_data() {
	objects := generated(reachable, types.UnstructurableMap{})
	playThrough(objects[0], objects[1])
	// Output:
	// waiting for data "address" <nil>
	//  <nil>
	// web ADDRESS=shop.example.org
}

// playThrough does what the reconciler does: it extracts data and asks the guard, before and after the Service has an
// address, and completes the manifest.
func playThrough(frontend, web client.Object) {
	guarded, _ := behaviors.Of[behaviors.Guarded](web)
	extracting, _ := behaviors.Of[behaviors.Extracting](frontend)
	for _, live := range []corev1.Service{{}, withAddress()} {
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&live)
		if err != nil {
			fmt.Println(err)
		}
		if err := extracting.Extract(&unstructured.Unstructured{Object: content}); err != nil {
			fmt.Println(err)
		}
		fmt.Println(guarded.Guard())
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(behaviors.Bare(web))
	if err != nil {
		fmt.Println(err)
	}
	late, _ := behaviors.Of[behaviors.Late](web)
	manifest := &unstructured.Unstructured{Object: content}
	if err := late.Complete(manifest); err != nil {
		fmt.Println(err)
	}
	d := &appsv1.Deployment{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(manifest.Object, d); err != nil {
		fmt.Println(err)
	}
	for _, container := range d.Spec.Template.Spec.Containers {
		fmt.Println(container.Name, container.Env[0].Name+"="+container.Env[0].Value)
	}
}

// remembering returns the same without a cell.
func remembering(_ context.Context, input resources.Input) ([]resources.Resource, error) {
	var address string
	frontend, err := service.NewBuilder(&corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: input.Namespace, Name: input.Name},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, Ports: []corev1.ServicePort{{Port: 80}}},
	}).WithDataExtractor(func(s corev1.Service) (err error) {
		address, _, err = hostOf(s)
		return err
	}).Build()
	if err != nil {
		return nil, err
	}
	known := deployment.Mutation{Name: "address", Mutate: func(m *deployment.Mutator) error {
		m.EnsureContainerEnvVar(corev1.EnvVar{Name: "ADDRESS", Value: address})
		return nil
	}}
	web, err := deployment.NewBuilder(webServers()).WithMutation(known).WithGuard(func(appsv1.Deployment) (concepts.GuardStatusWithReason, error) {
		if address == "" {
			return concepts.GuardStatusWithReason{Status: concepts.GuardStatusBlocked, Reason: "there is no address"}, nil
		}
		return concepts.GuardStatusWithReason{Status: concepts.GuardStatusUnblocked}, nil
	}).Build()
	if err != nil {
		return nil, err
	}
	return []resources.Resource{frontend, web}, nil
}

// Data in a variable.
func Example_closure() {
	objects := generated(remembering, types.UnstructurableMap{})
	playThrough(objects[0], objects[1])
	// Output:
	// there is no address <nil>
	//  <nil>
	// web ADDRESS=shop.example.org
}

// A suspended form of one's own.
func Example_suspension() {
	web, err := deployment.NewBuilder(webServers()).
		WithCustomSuspendMutation(func(m *deployment.Mutator) error {
			m.EnsureReplicas(1)
			m.EditContainers(selectors.ContainerNamed("web"), func(e *editors.ContainerEditor) error {
				e.EnsureArg("--maintenance-page")
				return nil
			})
			return nil
		}).
		WithCustomSuspendStatus(func(d *appsv1.Deployment) (concepts.SuspensionStatusWithReason, error) {
			status, err := deployment.DefaultConvergingStatusHandler(concepts.ConvergingOperationNone, d)
			if err != nil || !status.IsConverged() {
				return concepts.SuspensionStatusWithReason{Status: concepts.SuspensionStatusSuspending, Reason: status.Reason}, err
			}
			return concepts.SuspensionStatusWithReason{Status: concepts.SuspensionStatusSuspended}, nil
		}).Build()
	if err != nil {
		fmt.Println(err)
	}
	migration, err := job.NewBuilder(&batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "migration"}}).
		WithCustomSuspendDeletionDecision(func(*batchv1.Job) bool { return false }).Build()
	if err != nil {
		fmt.Println(err)
	}
	if err := web.Suspend(); err != nil {
		fmt.Println(err)
	}
	d := rolledOut()
	if err := web.Mutate(d); err != nil {
		fmt.Println(err)
	}
	fmt.Println(*d.Spec.Replicas, d.Spec.Template.Spec.Containers[0].Args)
	fmt.Println(web.SuspensionStatus())
	fmt.Println(migration.DeleteOnSuspend())
	// Output:
	// 1 [--maintenance-page]
	// {Suspended } <nil>
	// false
}
