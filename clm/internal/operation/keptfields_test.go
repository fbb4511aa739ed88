// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/component-operator/runtime/internal/display"
	"github.com/component-operator/runtime/pkg/reconciler"
)

func parsed(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &object.Object); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return object
}

// object is a ConfigMap with annotations and data in the flow style of YAML.
func object(t *testing.T, annotations, data string) *unstructured.Unstructured {
	t.Helper()
	return parsed(t, fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: a, annotations: {%s}}, data: {%s}}", annotations, data))
}

func list(objects ...*unstructured.Unstructured) []*unstructured.Unstructured { return objects }

func TestCarry(t *testing.T) {
	t.Parallel()
	const both = `clm.cs.sap.com/ignore-fields: "data.a,data.b", clm.cs.sap.com/kept-fields: "data.a,data.b"`
	for _, tc := range []struct{ reason, recorded, recordedData, rendered, renderedData, further, want string }{
		{"nothing kept", "", "a: 1", "", "a: 1", "", ""},
		{"unchanged", both, "a: 1, b: 1", "", "a: 1, b: 1", "", both},
		{"one changed", both, "a: 1, b: 1", "", "a: 1, b: 2", "", `clm.cs.sap.com/ignore-fields: data.a, clm.cs.sap.com/kept-fields: data.a`},
		{"all changed", both, "a: 1, b: 1", "", "a: 2, b: 2", "", ""},
		{"one removed", both, "a: 1, b: 1", "", "a: 1", "", `clm.cs.sap.com/ignore-fields: data.a, clm.cs.sap.com/kept-fields: data.a`},
		{"in no manifest", both, "a: 1", "", "a: 1", "", both},
		{"a further one", both, "a: 1, b: 1, c: 1", "", "a: 1, b: 1, c: 1", "data.c", `clm.cs.sap.com/ignore-fields: "data.a,data.b,data.c", clm.cs.sap.com/kept-fields: "data.a,data.b,data.c"`},
		{"others that the manifest ignores", both, "a: 1, b: 1", "clm.cs.sap.com/ignore-fields: data.z", "a: 1, b: 1", "", `clm.cs.sap.com/ignore-fields: "data.z,data.a,data.b", clm.cs.sap.com/kept-fields: "data.a,data.b"`},
		{"the manifest names it now", both, "a: 1, b: 1", "clm.cs.sap.com/ignore-fields: data.a", "a: 1, b: 1", "", `clm.cs.sap.com/ignore-fields: "data.a,data.b", clm.cs.sap.com/kept-fields: data.b`},
		{"the manifest names all", both, "a: 1, b: 1", `clm.cs.sap.com/ignore-fields: "data.b, data.a"`, "a: 1, b: 1", "", `clm.cs.sap.com/ignore-fields: "data.b, data.a"`},
		{"as recorded", both, "a: 1, b: 1", both, "a: 1, b: 1", "", both},
		{"what the manifest ignored before", "clm.cs.sap.com/ignore-fields: data.a", "a: 1", "", "a: 1", "", ""},
	} {
		recorded, rendered := object(t, tc.recorded, tc.recordedData), object(t, tc.rendered, tc.renderedData)
		further := keptFields{}
		if tc.further != "" {
			further[display.Key{GroupKind: rendered.GroupVersionKind().GroupKind(), Namespace: "home", Name: "a"}] = []string{tc.further}
		}
		before := rendered.DeepCopy()
		got := carryKept("home", list(rendered), list(recorded), further)[0]
		if diff := cmp.Diff(object(t, tc.want, tc.renderedData).GetAnnotations(), got.GetAnnotations()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
		}
		if diff := cmp.Diff(before, rendered); diff != "" {
			t.Errorf("%s: the object was changed:\n%s", tc.reason, diff)
		}
	}
}

// TestStrip: what was added to a manifest goes, and what it had stays as it was.
func TestStrip(t *testing.T) {
	t.Parallel()
	const both = `clm.cs.sap.com/ignore-fields: "data.a,data.b", clm.cs.sap.com/kept-fields: "data.a,data.b"`
	for _, tc := range []struct{ recorded, want string }{
		{both, ""},
		{`clm.cs.sap.com/ignore-fields: "data.z , data.y,data.a", clm.cs.sap.com/kept-fields: data.a, y: z`, `clm.cs.sap.com/ignore-fields: "data.z,data.y", y: z`},
		{`clm.cs.sap.com/ignore-fields: "data.a,data.z", clm.cs.sap.com/kept-fields: data.a`, `clm.cs.sap.com/ignore-fields: data.z`},
		{`clm.cs.sap.com/ignore-fields: "data.a,data.b", clm.cs.sap.com/kept-fields: data.a`, `clm.cs.sap.com/ignore-fields: data.b`},
		{`clm.cs.sap.com/ignore-fields: data.a`, `clm.cs.sap.com/ignore-fields: data.a`},
	} {
		recorded := object(t, tc.recorded, "a: 1")
		before := recorded.DeepCopy()
		got := withoutKept(list(recorded))[0]
		if diff := cmp.Diff(object(t, tc.want, "a: 1").GetAnnotations(), got.GetAnnotations(), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.recorded, diff)
		}
		if diff := cmp.Diff(before, recorded); diff != "" {
			t.Errorf("%s: the object was changed:\n%s", tc.recorded, diff)
		}
	}
}

// TestOtherObjects: fields are kept only of the same object.
func TestOtherObjects(t *testing.T) {
	t.Parallel()
	rendered := object(t, "", "a: 1")
	for reason, change := range map[string]func(*unstructured.Unstructured){
		"another name":      func(o *unstructured.Unstructured) { o.SetName("b") },
		"another namespace": func(o *unstructured.Unstructured) { o.SetNamespace("b") },
		"another kind":      func(o *unstructured.Unstructured) { o.SetKind("Secret") },
	} {
		recorded := object(t, "clm.cs.sap.com/ignore-fields: data.a, clm.cs.sap.com/kept-fields: data.a", "a: 1")
		change(recorded)
		if got := carryKept("home", list(rendered), list(recorded), nil); got[0] != rendered {
			t.Errorf("%s: got %v", reason, got)
		}
	}
	hook := object(t, "clm.cs.sap.com/deletion-hook: pre-delete", "a: 1")
	recorded := object(t, "clm.cs.sap.com/ignore-fields: data.a, clm.cs.sap.com/kept-fields: data.a", "a: 1")
	if got := carryKept("home", list(rendered, hook), list(hook, recorded), nil); got[0] == rendered || got[1] != hook {
		t.Errorf("want only the fields of the object that is not a hook, got %v", got)
	}
	recorded.SetNamespace("home")
	if got := carryKept("home", list(rendered), list(recorded), nil); got[0] == rendered {
		t.Error("want the namespace of the release to be the same as none")
	}
}

func TestChoose(t *testing.T) {
	t.Parallel()
	change := func(conflicts ...reconciler.FieldChange) []reconciler.Change {
		info := reconciler.ObjectInfo{}
		info.Kind, info.Version, info.Namespace, info.Name = "ConfigMap", "v1", "home", "a"
		return []reconciler.Change{{Object: info, Conflicts: conflicts}}
	}
	conflict := func(ignorable string) reconciler.FieldChange {
		return reconciler.FieldChange{Path: "." + ignorable, Ignorable: ignorable, Manager: "them"}
	}
	rendered, recorded := list(object(t, "", "a: 1, b: 1, c: 1")), list(object(t, "", "a: 1, b: 2"))
	got, err := chooseKept("home", rendered, recorded, change(conflict("data.a"), conflict("data.b"), conflict("data.c"), conflict("data.a"), conflict(`metadata.annotations["clm.cs.sap.com/digest"]`)))
	want := keptFields{display.KeyOf(change()[0].Object): {"data.a"}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("want what the manifest does not change, without our own: %v (-want +got):\n%s", err, diff)
	}
	if got, err := chooseKept("home", rendered, nil, change(conflict("data.a"))); len(got) > 0 || err != nil {
		t.Errorf("want nothing of a new object, got %v, %v", got, err)
	}
	nameless := reconciler.FieldChange{Path: `.data.a`, Manager: "them"}
	_, err = chooseKept("home", rendered, recorded, change(nameless))
	var refused *reconciler.RefusedError
	text := "ConfigMap home/a: .data.a belongs to them and cannot be left alone, because clm.cs.sap.com/ignore-fields cannot name it; to take it over: --conflicts=force"
	if !errors.As(err, &refused) || err.Error() != text {
		t.Errorf("want %s, got %v", text, err)
	}
}

// TestSecrets: fields of a Secret are those that are stored.
func TestSecrets(t *testing.T) {
	t.Parallel()
	secret := func(fields string) *unstructured.Unstructured {
		return parsed(t, "{apiVersion: v1, kind: Secret, metadata: {name: a}, "+fields+"}")
	}
	recorded := secret("stringData: {a: x}")
	recorded.SetAnnotations(map[string]string{"clm.cs.sap.com/ignore-fields": "data.a", "clm.cs.sap.com/kept-fields": "data.a"})
	for fields, kept := range map[string]bool{"stringData: {a: x}": true, "data: {a: eA==}": true, "stringData: {a: y}": false, "data: {a: eQ==}": false} {
		got := carryKept("home", list(secret(fields)), list(recorded), nil)[0]
		if (got.GetAnnotations()["clm.cs.sap.com/kept-fields"] != "") != kept {
			t.Errorf("%s: want kept %t, got %v", fields, kept, got.GetAnnotations())
		}
	}
}
