// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package generic_test

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/component-operator/runtime/pkg/resources/concepts"
	"github.com/component-operator/runtime/pkg/resources/editors"
	"github.com/component-operator/runtime/pkg/resources/feature"
	"github.com/component-operator/runtime/pkg/resources/generic"
)

// A kind as an author would add it: Deployments whose status says nothing.
type (
	builder  = generic.Builder[appsv1.Deployment, *appsv1.Deployment, *mutator, mutation, concepts.OperationalStatusWithReason]
	resource = generic.Resource[appsv1.Deployment, *appsv1.Deployment, concepts.OperationalStatusWithReason]
	mutation feature.Mutation[*mutator]
)

type mutator struct {
	generic.Plan
	generic.Metadata
	generic.PodTemplate

	spec *generic.Category[*editors.DeploymentSpecEditor]
}

func newMutator(object *appsv1.Deployment) *mutator {
	m := &mutator{}
	m.Metadata = generic.NewMetadata(&m.Plan, &object.ObjectMeta)
	m.spec = generic.NewCategory(&m.Plan, "deployment spec", editors.NewDeploymentSpecEditor(&object.Spec))
	m.PodTemplate = generic.NewPodTemplate(&m.Plan, &object.Spec.Template)
	return m
}

func kind() generic.Kind[*appsv1.Deployment, *mutator, concepts.OperationalStatusWithReason] {
	return generic.Kind[*appsv1.Deployment, *mutator, concepts.OperationalStatusWithReason]{
		GroupVersionKind: appsv1.SchemeGroupVersion.WithKind("Deployment"), NewMutator: newMutator, Applied: true,
		Defaults: generic.Handlers[*appsv1.Deployment, *mutator, concepts.OperationalStatusWithReason]{ConvergingStatus: generic.Applied[*appsv1.Deployment]},
	}
}

func newBuilder(object *appsv1.Deployment) *builder {
	return generic.NewBuilder[mutation](kind(), object)
}

// base is a Deployment with the given containers.
func base(containers ...string) *appsv1.Deployment {
	object := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
	for _, name := range containers {
		object.Spec.Template.Spec.Containers = append(object.Spec.Template.Spec.Containers, corev1.Container{Name: name})
	}
	return object
}

func build(tb testing.TB, b *builder) *resource {
	tb.Helper()
	built, err := b.Build()
	if err != nil {
		tb.Fatal(err)
	}
	return built
}

// mutated returns the object of a resource.
func mutated(tb testing.TB, r *resource) *appsv1.Deployment {
	tb.Helper()
	object := &appsv1.Deployment{}
	if err := r.Mutate(object); err != nil {
		tb.Fatal(err)
	}
	return object
}

func named(name string, mutate func(*mutator)) mutation {
	return mutation{Name: name, Mutate: func(m *mutator) error {
		mutate(m)
		return nil
	}}
}
