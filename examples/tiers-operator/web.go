// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/component-operator/runtime/pkg/resources"
	"github.com/component-operator/runtime/pkg/resources/deployment"
	"github.com/component-operator/runtime/pkg/resources/editors"
	"github.com/component-operator/runtime/pkg/resources/hpa"
	"github.com/component-operator/runtime/pkg/resources/ingress"
	"github.com/component-operator/runtime/pkg/resources/pdb"
	"github.com/component-operator/runtime/pkg/resources/selectors"
	"github.com/component-operator/runtime/pkg/resources/service"
)

// web are the web servers, which start when the schema is migrated. Their number is up to the autoscaler.
func (a application) web() (resources.Resource, error) {
	web := &appsv1.Deployment{
		ObjectMeta: a.metadata("web"),
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: a.labels("web")},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: a.labels("web")},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 8080}}}}},
			},
		},
	}
	return deployment.NewBuilder(web).WithDataGuard(a.migrated).WithMutation(deployment.Mutation{Name: "version", Mutate: func(m *deployment.Mutator) error {
		m.EditDeploymentSpec(func(e *editors.DeploymentSpecEditor) error {
			e.SetProgressDeadlineSeconds(10)
			e.Raw().Strategy = appsv1.DeploymentStrategy{RollingUpdate: &appsv1.RollingUpdateDeployment{MaxUnavailable: ptr.To(intstr.FromInt32(1)), MaxSurge: ptr.To(intstr.FromInt32(1))}}
			return nil
		})
		m.EditPodSpec(func(e *editors.PodSpecEditor) error {
			for key, value := range a.NodeSelector {
				e.EnsureNodeSelector(key, value)
			}
			return nil
		})
		m.EditContainers(selectors.ContainerNamed("web"), func(e *editors.ContainerEditor) error {
			schema, err := a.migrated.Require()
			if err != nil {
				return err
			}
			e.SetImage("example.io/tiers:" + a.Version)
			e.EnsureEnvVar(corev1.EnvVar{Name: "SCHEMA", Value: schema})
			return nil
		})
		return nil
	}}).Build()
}

// budget is the number of web servers that must stay when nodes are drained.
func (a application) budget() (resources.Resource, error) {
	return pdb.NewBuilder(&policyv1.PodDisruptionBudget{
		ObjectMeta: a.metadata("web"),
		Spec:       policyv1.PodDisruptionBudgetSpec{MinAvailable: ptr.To(intstr.FromInt32(1)), Selector: &metav1.LabelSelector{MatchLabels: a.labels("web")}},
	}).Build()
}

// autoscaler is auxiliary: without metrics, it keeps the number of web servers, and the application works.
func (a application) autoscaler() (resources.Resource, error) {
	return hpa.NewBuilder(&autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: a.metadata("web"),
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: a.name},
			MinReplicas:    ptr.To(int32(2)), MaxReplicas: a.MaxReplicas,
			Metrics: []autoscalingv2.MetricSpec{{
				Type: autoscalingv2.ResourceMetricSourceType,
				Resource: &autoscalingv2.ResourceMetricSource{
					Name: corev1.ResourceCPU, Target: autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType, AverageUtilization: ptr.To(int32(80))},
				},
			}},
		},
	}).Auxiliary().Build()
}

func (a application) service() (resources.Resource, error) {
	return service.NewBuilder(&corev1.Service{
		ObjectMeta: a.metadata("web"),
		Spec:       corev1.ServiceSpec{Selector: a.labels("web"), Ports: []corev1.ServicePort{{Name: "http", Port: 80, TargetPort: intstr.FromString("http")}}},
	}).Build()
}

func (a application) ingress() (resources.Resource, error) {
	return ingress.NewBuilder(&networkingv1.Ingress{ObjectMeta: a.metadata("web")}).WithMutation(ingress.Mutation{Name: "host", Mutate: func(m *ingress.Mutator) error {
		m.EditIngressSpec(func(e *editors.IngressSpecEditor) error {
			e.EnsureRule(networkingv1.IngressRule{Host: a.Host, IngressRuleValue: networkingv1.IngressRuleValue{HTTP: &networkingv1.HTTPIngressRuleValue{
				Paths: []networkingv1.HTTPIngressPath{{
					Path: "/", PathType: ptr.To(networkingv1.PathTypePrefix),
					Backend: networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{Name: a.name, Port: networkingv1.ServiceBackendPort{Name: "http"}}},
				}},
			}}})
			return nil
		})
		return nil
	}}).Build()
}
