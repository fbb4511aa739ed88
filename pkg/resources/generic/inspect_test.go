// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package generic_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/component-operator/runtime/pkg/resources/concepts"
	"github.com/component-operator/runtime/pkg/resources/editors"
	"github.com/component-operator/runtime/pkg/resources/feature"
	"github.com/component-operator/runtime/pkg/resources/selectors"
)

// TestInspection: tests see which mutations are on, and what these do and notice.
func TestInspection(t *testing.T) {
	t.Parallel()
	off := named("off", func(m *mutator) { m.EnsureContainerArg("--off") })
	off.Feature = feature.NewBooleanGate(false)
	b := newBuilder(base("web")).WithMutation(
		named("argument", func(m *mutator) { m.EnsureContainerArg("--on") }), off,
		named("misspelt", func(m *mutator) {
			m.EditContainers(selectors.ContainerNamed("wep"), func(e *editors.ContainerEditor) error { e.SetImage("x"); return nil })
		}))
	var inspectable concepts.Inspectable = build(t, b)
	want := []concepts.MutationState{
		{Name: "argument", Enabled: true, Why: "on: there is no gate"}, {Name: "off", Why: "off: the condition is false"}, {Name: "misspelt", Enabled: true, Why: "on: there is no gate"},
	}
	b.WithMutation(named("late", func(*mutator) {}))
	if diff := cmp.Diff(want, inspectable.Mutations()); diff != "" {
		t.Errorf("mutations (-want +got):\n%s", diff)
	}

	object, warnings, err := inspectable.Preview()
	if err != nil {
		t.Fatal(err)
	}
	expected := base("web")
	expected.APIVersion, expected.Kind = "apps/v1", "Deployment"
	expected.Spec.Template.Spec.Containers[0].Args = []string{"--on"}
	if diff := cmp.Diff(expected, object); diff != "" {
		t.Errorf("object (-want +got):\n%s", diff)
	}
	if len(warnings) != 1 || !strings.Contains(warnings[0], `mutation "misspelt": containers: the selector of edit 1 matches none of`) {
		t.Errorf("unexpected warnings %q", warnings)
	}
	if noticed := inspectable.(concepts.Warning).Warnings(); len(noticed) > 0 {
		t.Errorf("a preview must change nothing, and there are warnings %q", noticed)
	}

	if object, _, err := build(t, b.WithStrictSelectors()).Preview(); err == nil || object != nil || !strings.Contains(err.Error(), `mutating Deployment shop/web: mutation "misspelt"`) {
		t.Errorf("got %v, %v", object, err)
	}
}
