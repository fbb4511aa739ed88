// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/component-operator/runtime/pkg/resources"
	"github.com/component-operator/runtime/pkg/resources/concepts"
	"github.com/component-operator/runtime/pkg/resources/deployment"
	"github.com/component-operator/runtime/pkg/resources/editors"
	"github.com/component-operator/runtime/pkg/resources/feature"
	"github.com/component-operator/runtime/pkg/resources/selectors"
	"github.com/component-operator/runtime/pkg/resources/service"
)

// bookshop returns the resources of a bookshop: first the Service, and when it has an address, the web servers.
func bookshop(_ context.Context, input resources.Input) ([]resources.Resource, error) {
	spec, err := resources.SpecOf[*BookshopSpec](input)
	if err != nil {
		return nil, err
	}
	address := concepts.NewData[string]("address")
	frontend, err := service.NewBuilder(&corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: input.Namespace, Name: input.Name},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, Selector: labels(input), Ports: []corev1.ServicePort{{Name: "http", Port: 80}}},
	}).WithData(concepts.Into(address, addressOf)).Build()
	if err != nil {
		return nil, err
	}
	mutations, err := webMutations(spec, address)
	if err != nil {
		return nil, err
	}
	web, err := deployment.NewBuilder(webServers(input)).WithMutation(mutations...).WithDataGuard(address).Build()
	if err != nil {
		return nil, err
	}
	return []resources.Resource{frontend, web}, nil
}

// addressOf returns the name under which a Service is reachable from outside.
func addressOf(service corev1.Service) (address string, found bool, err error) {
	for _, ingress := range service.Status.LoadBalancer.Ingress {
		if ingress.Hostname != "" {
			return ingress.Hostname, true, nil
		}
	}
	return "", false, nil
}

func labels(input resources.Input) map[string]string {
	return map[string]string{"app.kubernetes.io/name": "bookshop", "app.kubernetes.io/instance": input.Name}
}

// webServers are the web servers as all versions have them.
func webServers(input resources.Input) *appsv1.Deployment {
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: input.Namespace, Name: input.Name, Labels: labels(input)},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels(input)},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels(input)},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web"}}},
			},
		},
	}
}

// webMutations are what versions and features change.
func webMutations(spec *BookshopSpec, address *concepts.Data[string]) ([]deployment.Mutation, error) {
	before2, err := feature.Semver("< 2")
	if err != nil {
		return nil, err
	}
	since2, err := feature.Semver(">= 2")
	if err != nil {
		return nil, err
	}
	in := func(constraint feature.VersionConstraint) *feature.VersionGate {
		return feature.NewVersionGate(spec.Version, []feature.VersionConstraint{constraint})
	}
	return []deployment.Mutation{
		{Name: "version", Mutate: func(m *deployment.Mutator) error {
			m.EnsureReplicas(spec.Replicas)
			m.EditContainers(selectors.ContainerNamed("web"), func(e *editors.ContainerEditor) error {
				host, err := address.Require()
				if err != nil {
					return err
				}
				e.SetImage("example.io/bookshop:" + spec.Version)
				e.EnsureEnvVar(corev1.EnvVar{Name: "ADDRESS", Value: host})
				return nil
			})
			return nil
		}},
		{Name: "file-store", Feature: in(before2), Mutate: func(m *deployment.Mutator) error {
			m.EnsureContainerArg("--store=/var/lib/bookshop")
			return nil
		}},
		{Name: "search", Feature: in(since2), Mutate: func(m *deployment.Mutator) error {
			m.EnsureContainerArg("--search")
			return nil
		}},
		{Name: "cache", Feature: in(since2).When(spec.Cache), Mutate: func(m *deployment.Mutator) error {
			m.EnsureContainer(corev1.Container{Name: "cache", Image: "example.io/cache:1"})
			return nil
		}},
		{Name: "tracing", Feature: feature.NewBooleanGate(spec.Tracing != ""), Mutate: func(m *deployment.Mutator) error {
			m.EnsureContainerEnvVar(corev1.EnvVar{Name: "TRACES_TO", Value: spec.Tracing})
			return nil
		}},
	}, nil
}
