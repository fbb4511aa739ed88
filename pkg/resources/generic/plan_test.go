// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package generic_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/component-operator/runtime/pkg/resources/editors"
	"github.com/component-operator/runtime/pkg/resources/feature"
	"github.com/component-operator/runtime/pkg/resources/selectors"
)

// TestOrder: features in the order of mutations, categories in their order, edits in the order of their registration.
func TestOrder(t *testing.T) {
	t.Parallel()
	var order []string
	note := func(text string) { order = append(order, text) }
	all := func(m *mutator, feature string) {
		m.EditInitContainers(selectors.AllContainers(), func(*editors.ContainerEditor) error { note(feature + " init containers"); return nil })
		m.EditContainers(selectors.AllContainers(), func(e *editors.ContainerEditor) error { note(feature + " container " + e.Raw().Name); return nil })
		m.EnsureContainer(corev1.Container{Name: feature})
		m.EnsureInitContainer(corev1.Container{Name: feature})
		m.EditPodSpec(func(e *editors.PodSpecEditor) error {
			note(fmt.Sprintf("%s pod spec of %d containers", feature, len(e.Raw().Containers)))
			return nil
		})
		m.EditPodTemplateMetadata(func(*editors.ObjectMetaEditor) error { note(feature + " template"); return nil })
		m.spec.Record(func(*editors.DeploymentSpecEditor) error { note(feature + " spec 1"); return nil })
		m.spec.Record(func(*editors.DeploymentSpecEditor) error { note(feature + " spec 2"); return nil })
		m.EditObjectMetadata(func(*editors.ObjectMetaEditor) error { note(feature + " metadata"); return nil })
	}
	resource := build(t, newBuilder(base("web")).WithMutation(
		named("a", func(m *mutator) { all(m, "a") }),
		mutation{Name: "off", Feature: feature.NewBooleanGate(false), Mutate: func(*mutator) error { note("off"); return nil }},
		named("b", func(m *mutator) { all(m, "b") }),
	))
	mutated(t, resource)
	want := []string{
		"a metadata", "a spec 1", "a spec 2", "a template", "a pod spec of 1 containers", "a container web", "a container a", "a init containers",
		"b metadata", "b spec 1", "b spec 2", "b template", "b pod spec of 2 containers", "b container web", "b container a", "b container b", "b init containers", "b init containers",
	}
	if diff := cmp.Diff(want, order); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestUnmatchedSelectors(t *testing.T) {
	t.Parallel()
	nothing := func(*editors.ContainerEditor) error { return nil }
	for _, tc := range []struct {
		reason   string
		selector selectors.ContainerSelector
		warns    bool
	}{
		{"a name that does not exist", selectors.ContainerNamed("wbe"), true},
		{"a position that does not exist", selectors.ContainerAtIndex(1), true},
		{"all but one, which is the only one", selectors.ContainerNotNamed("web"), false},
		{"all", selectors.AllContainers(), false},
		{"one that expects a real container", func(i int, _ *corev1.Container) bool { return []bool{false}[i] }, true},
	} {
		edits := named("typo", func(m *mutator) { m.EditContainers(tc.selector, nothing) })
		resource := build(t, newBuilder(base("web")).WithMutation(edits))
		mutated(t, resource)
		if warns := len(resource.Warnings()) > 0; warns != tc.warns {
			t.Errorf("%s: unexpected warnings %q", tc.reason, resource.Warnings())
		}
		_, err := build(t, newBuilder(base("web")).WithMutation(edits).WithStrictSelectors()).PreviewObject()
		if isError := err != nil && strings.Contains(err.Error(), "matches none of"); isError != tc.warns || err != nil != tc.warns {
			t.Errorf("%s: unexpected error %v", tc.reason, err)
		}
	}
}

func TestNothingIsRecordedTwice(t *testing.T) {
	t.Parallel()
	object := base("web")
	m := newMutator(object)
	m.EditContainers(nil, func(*editors.ContainerEditor) error { return errors.New("called") })
	m.EditContainers(selectors.AllContainers(), nil)
	m.EditPodSpec(nil)
	m.EnsureContainerArg("--a")
	m.EditContainers(selectors.AllContainers(), func(e *editors.ContainerEditor) error {
		raw := e.Raw()
		raw.VolumeMounts = append(raw.VolumeMounts, corev1.VolumeMount{Name: "data"})
		return nil
	})
	for range 3 {
		if err := m.Apply(); err != nil {
			t.Fatal(err)
		}
	}
	m.EnsureContainerArg("--b")
	if err := m.Apply(); err != nil {
		t.Fatal(err)
	}
	want := []corev1.Container{{Name: "web", Args: []string{"--a", "--b"}, VolumeMounts: []corev1.VolumeMount{{Name: "data"}}}}
	if diff := cmp.Diff(want, object.Spec.Template.Spec.Containers); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestContainersAreCopied: what a mutation captures is not changed by edits of an object, and so not by those of other
// objects.
func TestContainersAreCopied(t *testing.T) {
	t.Parallel()
	captured := corev1.Container{Name: "proxy", Args: []string{"--a"}}
	resource := build(t, newBuilder(base()).WithMutation(
		named("proxy", func(m *mutator) { m.EnsureContainer(captured) }),
		named("args", func(m *mutator) { m.EnsureContainerArg("--b") }),
		named("first", func(m *mutator) {
			m.EditContainers(selectors.ContainerAtIndex(0), func(e *editors.ContainerEditor) error { e.Raw().Args[0] = "--changed"; return nil })
		}),
	))
	for range 2 {
		got := mutated(t, resource).Spec.Template.Spec.Containers
		if diff := cmp.Diff([]corev1.Container{{Name: "proxy", Args: []string{"--changed", "--b"}}}, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	if diff := cmp.Diff([]string{"--a"}, captured.Args); diff != "" {
		t.Errorf("the captured container has changed (-want +got):\n%s", diff)
	}
}

func TestErrorsNameTheMutation(t *testing.T) {
	t.Parallel()
	failing := errors.New("no such thing")
	for _, tc := range []struct {
		reason string
		m      mutation
		want   string
	}{
		{"while it records", mutation{Name: "a", Mutate: func(*mutator) error { return failing }}, `mutating Deployment.apps shop/web: mutation "a": no such thing`},
		{"in a gate", mutation{Name: "a", Feature: brokenGate{}, Mutate: func(*mutator) error { return nil }}, `mutating Deployment.apps shop/web: mutation "a": cannot tell whether its feature is on: broken`},
		{"in a panic", mutation{Name: "a", Mutate: func(*mutator) error { panic("oh no") }}, `mutating Deployment.apps shop/web: mutation "a": panic: oh no`},
		{"in an edit that panics", named("a", func(m *mutator) {
			m.EditPodSpec(func(*editors.PodSpecEditor) error { panic("oh no") })
		}), `mutating Deployment.apps shop/web: mutation "a": pod spec: panic: oh no`},
		{"in an edit of a container", named("a", func(m *mutator) {
			m.EditContainers(selectors.AllContainers(), func(*editors.ContainerEditor) error { return failing })
		}), `mutating Deployment.apps shop/web: mutation "a": containers: container "web": no such thing`},
	} {
		_, err := build(t, newBuilder(base("web")).WithMutation(named("fine", func(*mutator) {}), tc.m)).PreviewObject()
		if err == nil || strings.ReplaceAll(err.Error(), "Deployment ", "Deployment.apps ") != tc.want {
			t.Errorf("%s: got %v, want %s", tc.reason, err, tc.want)
		}
	}
}

type brokenGate struct{}

func (brokenGate) Enabled() (bool, error) { return false, errors.New("broken") }
