// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package deployment_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/resources/concepts"
	"github.com/component-operator/runtime/pkg/resources/deployment"
	"github.com/component-operator/runtime/pkg/resources/editors"
	"github.com/component-operator/runtime/pkg/resources/feature"
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

func TestResourceOfTheSeed(t *testing.T) {
	t.Parallel()
	var extracted []int32
	build := func(version string) *deployment.Resource {
		atLeast2, err := feature.Semver(">= 2")
		if err != nil {
			t.Fatal(err)
		}
		resource, err := deployment.NewBuilder(shop()).
			WithMutation(deployment.Mutation{Name: "everything", Feature: feature.NewVersionGate(version, []feature.VersionConstraint{atLeast2}).When(true), Mutate: everything}).
			WithMutation(deployment.Mutation{Name: "never", Feature: feature.NewBooleanGate(false), Mutate: func(*deployment.Mutator) error { return errors.New("called") }}).
			WithCustomConvergeStatus(func(op concepts.ConvergingOperation, d *appsv1.Deployment) (concepts.AliveStatusWithReason, error) {
				return deployment.DefaultConvergingStatusHandler(op, d)
			}).
			WithCustomGraceStatus(deployment.DefaultGraceStatusHandler).
			WithCustomSuspendStatus(deployment.DefaultSuspensionStatusHandler).
			WithCustomSuspendMutation(deployment.DefaultSuspendMutationHandler).
			WithCustomSuspendDeletionDecision(deployment.DefaultDeleteOnSuspendHandler).
			WithDataExtractor(func(d appsv1.Deployment) error { extracted = append(extracted, *d.Spec.Replicas); return nil }).
			WithDataExtractor(nil).
			WithGuard(func(d appsv1.Deployment) (concepts.GuardStatusWithReason, error) {
				return concepts.GuardStatusWithReason{Status: concepts.GuardStatusBlocked, Reason: "not yet, " + d.Name}, nil
			}).
			Build()
		if err != nil {
			t.Fatal(err)
		}
		return resource
	}
	old, resource := build("1.4.2"), build("2.0.0")

	if got := resource.Identity(); got != "apps/v1/Deployment/default/shop" {
		t.Errorf("unexpected identity %q", got)
	}
	typed := func(d *appsv1.Deployment) *appsv1.Deployment {
		d.TypeMeta = metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"}
		return d
	}
	preview := func(r *deployment.Resource, want *appsv1.Deployment) {
		t.Helper()
		got, err := r.PreviewObject()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(typed(want), got); diff != "" {
			t.Errorf("preview (-want +got):\n%s", diff)
		}
	}
	preview(old, shop())
	current, err := resource.Object()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(client.Object(typed(shop())), current); diff != "" {
		t.Errorf("object (-want +got):\n%s", diff)
	}

	if err := resource.Suspend(); err != nil {
		t.Fatal(err)
	}
	preview(resource, withReplicas(everythingDone(), 6))
	for round, replicas := range []int32{0, 6} {
		if err := resource.Mutate(current); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(client.Object(typed(withReplicas(everythingDone(), replicas))), current); diff != "" {
			t.Errorf("round %d (-want +got):\n%s", round, diff)
		}
	}
	live, _ := current.(*appsv1.Deployment)
	live.Generation, live.Status.ObservedGeneration, live.Status.ReadyReplicas, live.Status.Replicas = 2, 2, 1, 6
	checkStatuses(t, resource)
	if err := resource.ExtractData(); err != nil || cmp.Diff([]int32{6}, extracted) != "" {
		t.Errorf("unexpected data %v, %v", extracted, err)
	}
}

func checkStatuses(t *testing.T, resource *deployment.Resource) {
	t.Helper()
	converging, err := resource.ConvergingStatus(concepts.ConvergingOperationUpdated)
	if want := (concepts.AliveStatusWithReason{Status: concepts.AliveConvergingStatusUpdating, Reason: "Waiting for replicas: 1/6 ready"}); err != nil || converging != want {
		t.Errorf("unexpected status %v, %v", converging, err)
	}
	grace, err := resource.GraceStatus()
	if want := (concepts.GraceStatusWithReason{Status: concepts.GraceStatusDegraded, Reason: "Deployment partially available"}); err != nil || grace != want {
		t.Errorf("unexpected grace status %v, %v", grace, err)
	}
	suspension, err := resource.SuspensionStatus()
	want := concepts.SuspensionStatusWithReason{Status: concepts.SuspensionStatusSuspending, Reason: "Waiting for replicas to scale down, 6 replicas still running."}
	if err != nil || suspension != want || resource.DeleteOnSuspend() {
		t.Errorf("unexpected suspension %v, %v", suspension, err)
	}
	guard, err := resource.GuardStatus()
	if want := (concepts.GuardStatusWithReason{Status: concepts.GuardStatusBlocked, Reason: "not yet, shop"}); err != nil || guard != want {
		t.Errorf("unexpected guard status %v, %v", guard, err)
	}
}

func withReplicas(d *appsv1.Deployment, replicas int32) *appsv1.Deployment {
	d.Spec.Replicas = &replicas
	return d
}
