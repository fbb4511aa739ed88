// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package deployments

import (
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/component-operator/runtime/pkg/resources"
	"github.com/component-operator/runtime/pkg/resources/deployment"
	"github.com/component-operator/runtime/pkg/resources/editors"
	"github.com/component-operator/runtime/pkg/resources/feature"
	"github.com/component-operator/runtime/pkg/resources/selectors"
)

// Typed returns Deployments with five mutations each.
func Typed(count int) ([]resources.Resource, error) {
	since2, err := feature.Semver(">= 2")
	if err != nil {
		return nil, err
	}
	gate := feature.NewVersionGate("2.1.0", []feature.VersionConstraint{since2})
	mutations := []deployment.Mutation{
		{Name: "replicas", Mutate: func(m *deployment.Mutator) error { m.EnsureReplicas(3); return nil }},
		{Name: "labels", Mutate: func(m *deployment.Mutator) error {
			m.EditObjectMetadata(func(e *editors.ObjectMetaEditor) error { e.EnsureLabel("tier", "web"); return nil })
			return nil
		}},
		{Name: "proxy", Feature: gate, Mutate: func(m *deployment.Mutator) error {
			m.EnsureContainer(corev1.Container{Name: "proxy", Image: "proxy:1"})
			return nil
		}},
		{Name: "image", Feature: gate, Mutate: func(m *deployment.Mutator) error {
			m.EditContainers(selectors.ContainerNamed("web"), func(e *editors.ContainerEditor) error { e.SetImage("web:2"); return nil })
			return nil
		}},
		{Name: "mode", Mutate: func(m *deployment.Mutator) error {
			m.EnsureContainerEnvVar(corev1.EnvVar{Name: "MODE", Value: "fast"})
			return nil
		}},
	}
	all := make([]resources.Resource, count)
	for i := range all {
		if all[i], err = deployment.NewBuilder(Named(i)).WithMutation(mutations...).Build(); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// Named returns the n-th Deployment without mutations.
func Named(n int) *appsv1.Deployment {
	labels := map[string]string{"app": "typed-" + strconv.Itoa(n)}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: labels["app"], Labels: labels},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{
					Name: "web", Image: "web:1", Args: []string{"--verbose"}, Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 8080}},
					Env: []corev1.EnvVar{{Name: "A", Value: "a"}, {Name: "B", Value: "b"}},
				}}},
			},
		},
	}
}

// Change makes the changes of the mutations by hand.
func Change(d *appsv1.Deployment) {
	d.Spec.Replicas = new(int32(3))
	d.Labels["tier"] = "web"
	containers := &d.Spec.Template.Spec.Containers
	*containers = append(*containers, corev1.Container{Name: "proxy", Image: "proxy:1"})
	(*containers)[0].Image = "web:2"
	for i := range *containers {
		(*containers)[i].Env = append((*containers)[i].Env, corev1.EnvVar{Name: "MODE", Value: "fast"})
	}
}
