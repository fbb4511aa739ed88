// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"unicode"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/component-operator/runtime/clm/internal/views"
	"github.com/component-operator/runtime/pkg/component"
	"github.com/component-operator/runtime/pkg/objectset/v1alpha1"
)

// hostile are texts that would clear a screen, set its title, go back on the line, run the other way, or pretend to be
// another line.
var hostile = []string{"\x1b[2J", "\x1b]0;title\x07", "\u009b2J", "\rforged", "\bforged", "\u202eforged", "\nforged line"}

// expectHarmless checks a text in which hostile ones were shown.
func expectHarmless(t *testing.T, text string) {
	t.Helper()
	for line := range strings.Lines(text) {
		if i := strings.IndexFunc(strings.TrimSuffix(line, "\n"), func(r rune) bool { return unicode.IsControl(r) || r == '\u202e' }); i >= 0 {
			t.Errorf("want no control characters, got %q", line)
		}
		if strings.HasPrefix(line, "forged") {
			t.Errorf("want no line of others, got %q", line)
		}
	}
	if count := strings.Count(text, "forged"); count == 0 {
		t.Errorf("want the texts to be shown, got %q", text)
	}
}

// TestHostileObjectSet: whoever may create a set, or patch its status, does not control the terminals of those who look
// at it.
func TestHostileObjectSet(t *testing.T) {
	t.Parallel()
	target := views.Target{Mapping: &meta.RESTMapping{GroupVersionKind: v1alpha1.GroupVersion.WithKind("ObjectSet")}, Namespace: "shop", Name: "web-1"}
	for _, each := range hostile {
		text := "Seen" + each + " forged"
		set := &v1alpha1.ObjectSet{}
		set.Name = "web-1"
		set.Annotations = map[string]string{v1alpha1.AnnotationChangeCause: text}
		set.Status.Phases = []v1alpha1.PhaseStatus{{Name: text}}
		set.Status.Conditions = []component.Condition{{Type: component.ConditionType(text), Status: "True", Reason: text, Message: text}}
		v := objectsView{Snapshot: &views.Snapshot{
			Target: target, Sets: &views.ObjectSets{Target: target, Sets: []v1alpha1.Set{set}}, Trees: []views.SetTree{{Set: set}},
		}}
		var shown bytes.Buffer
		if err := v.write(&shown, false, 0); err != nil {
			t.Fatal(err)
		}
		if err := writeSets(&shown, v.Sets.Sets, 0); err != nil {
			t.Fatal(err)
		}
		expectHarmless(t, shown.String())
		object, err := plain(v.object())
		if err != nil {
			t.Fatal(err)
		}
		one := componentView{&views.Snapshot{Target: target, Component: &views.Component{Object: &unstructured.Unstructured{}, Status: set.Status.Status, Cluster: text}}}
		one.Component.Status.State = component.State(text)
		shown.Reset()
		if err := one.write(&shown, false, 0); err != nil {
			t.Fatal(err)
		}
		expectHarmless(t, shown.String())
		conditions, _ := object.Object["status"].(map[string]any)["conditions"].([]any)
		if !slices.ContainsFunc(conditions, func(condition any) bool { return condition.(map[string]any)["message"] == text }) {
			t.Errorf("want programs to get %q, got %v", text, conditions)
		}
	}
}
