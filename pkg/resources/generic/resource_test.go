// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package generic_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/resources/concepts"
	"github.com/component-operator/runtime/pkg/resources/editors"
	"github.com/component-operator/runtime/pkg/resources/feature"
	"github.com/component-operator/runtime/pkg/resources/generic"
)

// TestMutateAgain: an object that was mutated before, or comes from a cluster, gets the same content. It cannot be
// renamed.
func TestMutateAgain(t *testing.T) {
	t.Parallel()
	resource := build(t, newBuilder(base("a", "b")).WithMutation(named("proxy", func(m *mutator) {
		m.RemoveContainer("b")
		m.EnsureContainer(corev1.Container{Name: "proxy"})
		m.EnsureContainerArg("--proxy")
	})))
	want := mutated(t, resource)
	live := want.DeepCopy()
	live.Spec.Template.Spec.Containers = append(live.Spec.Template.Spec.Containers, corev1.Container{Name: "injected"})
	live.UID, live.ResourceVersion, live.Generation, live.Status.Replicas = "1", "2", 3, 4
	if err := resource.Mutate(live); err != nil {
		t.Fatal(err)
	}
	want.UID, want.ResourceVersion, want.Generation, want.Status.Replicas = "1", "2", 3, 4
	if diff := cmp.Diff(want, live); diff != "" {
		t.Errorf("(-first +second):\n%s", diff)
	}
	renaming := build(t, newBuilder(base()).WithMutation(named("rename", func(m *mutator) {
		m.EditObjectMetadata(func(e *editors.ObjectMetaEditor) error { e.Raw().Name = "other"; return nil })
	})))
	if err := renaming.Mutate(base()); err == nil || !strings.Contains(err.Error(), `metadata.name is changed to "other"; must be "web"`) {
		t.Errorf("unexpected error %v", err)
	}
}

func TestMutateRefusesOtherTypes(t *testing.T) {
	t.Parallel()
	resource := build(t, newBuilder(base()))
	for _, err := range []error{resource.Mutate(&corev1.Pod{}), resource.Mutate((*appsv1.Deployment)(nil)), resource.RecordObservation(&corev1.Pod{}), resource.AmendSuspended(&corev1.Pod{})} {
		if err == nil || !strings.Contains(err.Error(), "must be *v1.Deployment") {
			t.Errorf("unexpected error %v", err)
		}
	}
}

// TestLaterChangesOfTheBuilder: a resource does not change with its builder or its base object.
func TestLaterChangesOfTheBuilder(t *testing.T) {
	t.Parallel()
	object := base("web")
	b := newBuilder(object)
	resource := build(t, b)
	b.WithMutation(named("late", func(m *mutator) { m.EnsureContainerArg("late") })).WithApplyOrder(7)
	object.Labels = map[string]string{"late": "true"}
	got := mutated(t, resource)
	if len(got.Labels) > 0 || len(got.Spec.Template.Spec.Containers[0].Args) > 0 || len(resource.Registration().Policies) > 0 {
		t.Errorf("the resource has changed: %v", got)
	}
}

func TestBuildErrors(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		reason string
		b      *builder
		want   string
	}{
		{"everything that is missing", newBuilder(&appsv1.Deployment{}), "building Deployment: metadata.name must not be empty\nmetadata.namespace must not be empty"},

		{"a mutation without function", newBuilder(base()).WithMutation(mutation{Name: "empty"}), `mutation 1, "empty": Mutate must not be nil`},
		{"a mutation without name", newBuilder(base()).WithMutation(mutation{Mutate: func(*mutator) error { return nil }}), "mutation 1: Name must not be empty"},
		{"an unknown policy", newBuilder(base()).WithPolicies(generic.Policies{Update: "Overwrite"}), `update-policy: invalid value "overwrite"; must be one of: recreate, replace, ssa-merge, ssa-override`},
		{"an order that is too great", newBuilder(base()).WithApplyOrder(40000), `apply-order: invalid value "40000"; must be an integer from -32768 to 32767`},
		{"a negative grace period", newBuilder(base()).WithGracePeriod(-time.Second), "grace period -1s: must not be negative"},
		{"policies of an object of others", newBuilder(base()).ReadOnly(concepts.AbsenceBlocks).Unowned(), "a read-only resource can have neither policies nor a gate"},
		{
			"data of an object that goes", newBuilder(base()).WithPurgeOrder(0).WithDataExtractor(func(appsv1.Deployment) error { return nil }),
			"purge-order: data cannot be extracted from an object that is deleted while others need them",
		},
	} {
		if _, err := tc.b.Build(); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: got %v, want %s", tc.reason, err, tc.want)
		}
	}
}

func TestConflicts(t *testing.T) {
	t.Parallel()
	env := func(name, value string) func(*mutator) {
		return func(m *mutator) { m.EnsureContainerEnvVar(corev1.EnvVar{Name: name, Value: value}) }
	}
	replicas := func(n int32) func(*mutator) {
		return func(m *mutator) {
			m.spec.Record(func(e *editors.DeploymentSpecEditor) error { e.SetReplicas(n); return nil })
		}
	}
	label := func(key, value string) func(*mutator) {
		return func(m *mutator) {
			m.EditObjectMetadata(func(e *editors.ObjectMetaEditor) error { e.EnsureLabel(key, value); return nil })
		}
	}
	for _, tc := range []struct {
		reason    string
		mutations []func(*mutator)
		want      string
	}{
		{"one field, different values", []func(*mutator){replicas(1), replicas(2)}, `mutations "a" and "b" both write .spec.replicas: 1, then 2`},
		{"one variable", []func(*mutator){env("A", "1"), env("A", "2")}, `.spec.template.spec.containers[name="web"].env[name="A"].value: ***, then ***`},
		{"arguments of two features", []func(*mutator){func(m *mutator) { m.EnsureContainerArg("--a") }, func(m *mutator) { m.EnsureContainerArg("--b") }}, ""},
		{"an argument that is removed", []func(*mutator){func(m *mutator) { m.EnsureContainerArg("--a") }, func(m *mutator) { m.RemoveContainerArg("--a") }}, "args"},
		{"a container that is removed", []func(*mutator){
			func(m *mutator) { m.EnsureContainer(corev1.Container{Name: "proxy", Image: "proxy:1"}) }, func(m *mutator) { m.RemoveContainer("proxy") },
		}, "then removed"},
		{"a value that is there already counts as not written", []func(*mutator){replicas(7), replicas(2)}, ""},
		{"a key with dots", []func(*mutator){label("a.example.org/b", "1"), label("a.example.org/b", "2\n")}, `both write .metadata.labels["a.example.org/b"]: 1, then "2\n"`},
		{"one mutation with two features", []func(*mutator){func(m *mutator) {
			replicas(1)(m)
			m.BeginFeature()
			replicas(2)(m)
		}}, ""},
	} {
		object := base("web")
		object.Spec.Replicas = new(int32(7))
		b := newBuilder(object)
		for i, mutate := range tc.mutations {
			b.WithMutation(named(string(rune('a'+i)), mutate))
		}
		_, err := build(t, b).PreviewObject()
		if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%s: got %v, want %q", tc.reason, err, tc.want)
		}
	}
}

func TestRegistration(t *testing.T) {
	t.Parallel()
	host, port := concepts.NewData[string]("host"), concepts.NewData[int]("port")
	gate := feature.NewBooleanGate(true)
	resource := build(t, newBuilder(base()).
		WithPolicies(generic.Policies{Adoption: inventory.AdoptionPolicyIfUnowned, Delete: inventory.DeletePolicyDelete, ReapplyInterval: time.Hour, ReadyTimeout: time.Minute}).
		Unowned().WithApplyOrder(-2).WithDeleteOrder(3).GatedBy(gate).Auxiliary().WithGracePeriod(time.Minute).
		WithData(concepts.Into(host, func(d appsv1.Deployment) (string, bool, error) { return d.Name, true, nil })).
		WithDataGuard(port).WithOptionalData(host))
	got := resource.Registration()
	want := map[string]string{
		"adoption-policy": "if-unowned", "delete-policy": "orphan-on-delete", "reapply-interval": "1h0m0s", "ready-timeout": "1m0s", "apply-order": "-2", "delete-order": "3",
	}
	if diff := cmp.Diff(want, got.Policies); diff != "" {
		t.Errorf("policies (-want +got):\n%s", diff)
	}
	if !slices.Equal(got.Produces, []concepts.Cell{host}) || !slices.Equal(got.Requires, []concepts.Cell{port}) || !slices.Equal(got.Uses, []concepts.Cell{host}) {
		t.Errorf("unexpected data: %v", got)
	}
	if got.Gate != gate || !got.Auxiliary || got.GracePeriod != time.Minute || got.Guarded || got.Extracts || got.MayVary || got.Suspendable || got.Judged || got.Custom {
		t.Errorf("unexpected registration: %+v", got)
	}
	if err := resource.ExtractData(); err != nil {
		t.Fatal(err)
	}
	if value, err := host.Require(); err != nil || value != "web" {
		t.Errorf("unexpected data %q, %v", value, err)
	}
	if _, err := port.Require(); !errors.Is(err, concepts.ErrDataNotExtracted) || !strings.Contains(err.Error(), `"port"`) {
		t.Errorf("unexpected error %v", err)
	}
}

// TestDefaultGrace: without a handler, the grade follows from the status.
func TestDefaultGrace(t *testing.T) {
	t.Parallel()
	for status, want := range map[concepts.OperationalStatus]concepts.GraceStatus{
		concepts.OperationalStatusOperational: concepts.GraceStatusHealthy,
		concepts.OperationalStatusPending:     concepts.GraceStatusDegraded,
		concepts.OperationalStatusFailing:     concepts.GraceStatusDown,
	} {
		resource := build(t, newBuilder(base()).WithCustomConvergeStatus(func(concepts.ConvergingOperation, *appsv1.Deployment) (concepts.OperationalStatusWithReason, error) {
			return concepts.OperationalStatusWithReason{Status: status, Reason: "so it is"}, nil
		}))
		if got, err := resource.GraceStatus(); err != nil || got.Status != want || got.Reason != "so it is" {
			t.Errorf("%s: unexpected grade %v, %v", status, got, err)
		}
		if registration := resource.Registration(); !registration.Judged || !registration.Custom {
			t.Errorf("unexpected registration %+v", registration)
		}
	}
	if got, err := build(t, newBuilder(base())).SuspensionStatus(); err != nil || got.Status != concepts.SuspensionStatusSuspended {
		t.Errorf("unexpected suspension %v, %v", got, err)
	}
}
