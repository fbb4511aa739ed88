// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package deployment_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/component-operator/runtime/pkg/resources/concepts"
	"github.com/component-operator/runtime/pkg/resources/deployment"
	"github.com/component-operator/runtime/pkg/resources/editors"
	"github.com/component-operator/runtime/pkg/resources/selectors"
)

// shop is a Deployment with two containers.
func shop() *appsv1.Deployment {
	labels := map[string]string{"app": "shop"}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "shop"},
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To(int32(3)),
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					InitContainers: []corev1.Container{{Name: "migrate", Image: "shop:1"}, {Name: "warm-up", Image: "shop:1"}},
					Containers:     []corev1.Container{{Name: "web", Image: "shop:1", Args: []string{"--verbose", "--old", "--older"}}, {Name: "legacy"}, {Name: "legacy-2"}},
				},
			},
		},
	}
}

// everything uses each method of a Mutator that the seed document names.
func everything(m *deployment.Mutator) error {
	m.EditObjectMetadata(func(e *editors.ObjectMetaEditor) error { e.EnsureLabel("tier", "web"); return nil })
	m.EditDeploymentSpec(func(e *editors.DeploymentSpecEditor) error { e.SetPaused(true); return nil })
	m.EditPodTemplateMetadata(func(e *editors.ObjectMetaEditor) error { e.EnsureAnnotation("scrape", "true"); return nil })
	m.EditPodSpec(func(e *editors.PodSpecEditor) error { e.SetServiceAccountName("shop"); return nil })
	m.EditContainers(selectors.ContainerNamed("web"), func(e *editors.ContainerEditor) error { e.SetImage("shop:2"); return nil })
	m.EditInitContainers(selectors.AllContainers(), func(e *editors.ContainerEditor) error { e.SetImage("shop:2"); return nil })
	m.EnsureContainer(corev1.Container{Name: "proxy", Image: "proxy:1"})
	m.EnsureInitContainer(corev1.Container{Name: "prepare"})
	m.EnsureContainerArg("--proxy")
	m.EnsureContainerEnvVar(corev1.EnvVar{Name: "MODE", Value: "fast"})
	m.EnsureContainerEnvVar(corev1.EnvVar{Name: "A"})
	m.EnsureContainerEnvVar(corev1.EnvVar{Name: "B"})
	m.EnsureContainerEnvVar(corev1.EnvVar{Name: "C"})
	m.RemoveContainerEnvVar("A")
	m.RemoveContainerEnvVars([]string{"B", "C"})
	m.RemoveContainerArg("--verbose")
	m.RemoveContainerArgs([]string{"--old", "--older"})
	m.RemoveContainer("legacy")
	m.RemoveContainers([]string{"legacy-2", "absent"})
	m.RemoveInitContainer("migrate")
	m.RemoveInitContainers([]string{"warm-up"})
	m.EnsureReplicas(5)
	m.NextFeature()
	m.EnsureReplicas(6)
	return nil
}

// everythingDone is what everything makes of a shop.
func everythingDone() *appsv1.Deployment {
	wanted := shop()
	wanted.Labels = map[string]string{"tier": "web"}
	wanted.Spec.Paused, wanted.Spec.Replicas = true, ptr.To(int32(6))
	wanted.Spec.Template.Annotations = map[string]string{"scrape": "true"}
	wanted.Spec.Template.Spec.ServiceAccountName = "shop"
	env := []corev1.EnvVar{{Name: "MODE", Value: "fast"}}
	wanted.Spec.Template.Spec.Containers = []corev1.Container{
		{Name: "web", Image: "shop:2", Args: []string{"--proxy"}, Env: env}, {Name: "proxy", Image: "proxy:1", Args: []string{"--proxy"}, Env: env},
	}
	wanted.Spec.Template.Spec.InitContainers = []corev1.Container{{Name: "prepare", Image: "shop:2"}}
	return wanted
}

func TestMutatorOfTheSeed(t *testing.T) {
	t.Parallel()
	object := shop()
	mutator := deployment.NewMutator(object)
	if err := everything(mutator); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(shop(), object); diff != "" {
		t.Errorf("nothing must change before Apply (-want +got):\n%s", diff)
	}
	for range 2 { // The second call has nothing to apply.
		if err := mutator.Apply(); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(everythingDone(), object); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

var (
	_ concepts.Alive           = (*deployment.Resource)(nil)
	_ concepts.Graceful        = (*deployment.Resource)(nil)
	_ concepts.Suspendable     = (*deployment.Resource)(nil)
	_ concepts.Guardable       = (*deployment.Resource)(nil)
	_ concepts.DataExtractable = (*deployment.Resource)(nil)
)
