// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package valuetypes

import (
	"fmt"
	"strings"
	"testing"
)

func TestDeriveRefuses(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		reason, values, schema string
		want                   []string
	}{
		{reason: "the root of the values is a list", values: "[a]", want: []string{"values.yaml", `["a"]`, "object"}},
		{reason: "no YAML", values: "a: [", want: []string{"reading values.yaml"}},
		{reason: "no JSON", schema: "{", want: []string{"values.schema.json", "JSON"}},
		{reason: "the root is no object", schema: `{"type": "string"}`, want: []string{"#/type", "object"}},
		{reason: "true is no schema for fields", schema: `true`, want: []string{"values.schema.json", "object"}},
		{
			reason: "a reference to nothing", schema: `{"properties": {"a": {"$ref": "#/definitions/b"}}}`,
			want: []string{"#/properties/a/$ref", "#/definitions/b", "within the schema"},
		},
		{
			reason: "a reference to a file", schema: `{"properties": {"a": {"$ref": "other.json"}}}`,
			want: []string{"#/properties/a/$ref", "other.json", "within the schema"},
		},
		{
			reason: "a reference to an address", schema: `{"properties": {"a": {"items": {"$ref": "https://example.org/a.json"}}}}`,
			want: []string{"#/properties/a/items/$ref", "https://example.org/a.json", "within the schema"},
		},
		{reason: "an unknown draft", schema: `{"$schema": "https://example.org/draft"}`, want: []string{"values.schema.json", "https://example.org/draft"}},
		{reason: "a keyword with a wrong value", schema: `{"properties": {"a": {"minLength": "x"}}}`, want: []string{"values.schema.json", "/properties/a/minLength"}},
		{reason: "a name that no tag has", values: "a:\n  'b,c': 1", want: []string{`"b,c"`, `"a"`, "allowed"}},
		{reason: "a name that no tag has", schema: `{"properties": {"a\"b": {}}}`, want: []string{`"a\"b"`, "the root", "allowed"}},
		{reason: "an empty name", values: `"": 1`, want: []string{`""`, "allowed"}},
	} {
		_, err := Derive(Chart{Values: []byte(test.values), Schema: []byte(test.schema)}, Options{Name: "TestValues"})
		if err == nil {
			t.Errorf("%s: no error", test.reason)
			continue
		}
		for _, want := range test.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %q is not in: %v", test.reason, want, err)
			}
		}
	}
}

func TestSubchartsAreNamedInErrors(t *testing.T) {
	t.Parallel()
	_, err := Derive(Chart{Dependencies: []Dependency{{Name: "db", Chart: Chart{Schema: []byte("{")}}}}, Options{Name: "TestValues"})
	if err == nil || !strings.Contains(err.Error(), `subchart "db"`) {
		t.Errorf("the error does not name the subchart: %v", err)
	}
	_, err = Derive(Chart{Values: []byte("db: 1"), Dependencies: []Dependency{{Name: "db"}}}, Options{Name: "TestValues"})
	if err == nil || !strings.Contains(err.Error(), `"db" is the name of a subchart`) {
		t.Errorf("the error does not say what is wrong: %v", err)
	}
}

func TestReservedNames(t *testing.T) {
	t.Parallel()
	types, err := Derive(Chart{Values: []byte("ingress: {a: 1}")}, Options{Name: "ShopValues", Reserved: []string{"ShopIngress"}})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(types.Declarations, "type ShopIngress2 struct") {
		t.Errorf("the reserved name is not avoided:\n%s", types.Declarations)
	}
}

func TestDeclarationsAreStable(t *testing.T) {
	t.Parallel()
	chart := Chart{Schema: []byte(`{"properties": {"a": {"type": "string"}, "b": {"$ref": "#/$defs/x"}}, "$defs": {"x": {"properties": {"c": {"$ref": "#/$defs/x"}}}}}`)}
	first, err := Derive(chart, Options{Name: "V"})
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		again, err := Derive(chart, Options{Name: "V"})
		if err != nil {
			t.Fatal(err)
		}
		if again.Declarations != first.Declarations {
			t.Fatal("the declarations differ from call to call")
		}
	}
}

// TestRecursionEnds checks that schemas that refer to themselves, or that grow with each reference, are derived all the same.
func TestRecursionEnds(t *testing.T) {
	t.Parallel()
	var doubling strings.Builder
	doubling.WriteString(`{"properties": {"a": {"$ref": "#/$defs/n0"}}, "required": ["a"], "$defs": {"n40": {"type": "string"}`)
	for i := range 40 {
		fmt.Fprintf(&doubling, `, "n%d": {"type": "object", "required": ["x"], "properties": {"x": {"$ref": "#/$defs/n%d"}, "y": {"$ref": "#/$defs/n%d"}}}`, i, i+1, i+1)
	}
	doubling.WriteString("}}")
	for _, schema := range []string{
		`{"properties": {"a": {"$ref": "#"}}}`,
		`{"properties": {"a": {"anyOf": [{"$ref": "#/properties/a"}, {"type": "object"}]}}}`,
		`{"anyOf": [{"required": ["a"], "properties": {"a": {"$ref": "#"}}}, {"properties": {"b": {"type": "string"}}}]}`,
		`{"properties": {"a": {"oneOf": [{"type": "object", "properties": {"b": {"$ref": "#/properties/a"}}}, {"type": "object", "properties": {"c": {"$ref": "#/properties/a"}}}]}}}`,
		`{"required": ["a"], "properties": {"a": {"type": "object", "required": ["a"], "properties": {"a": {"$ref": "#/properties/a"}}}}}`,
		doubling.String(),
	} {
		types, err := Derive(Chart{Schema: []byte(schema)}, Options{Name: "Values"})
		if err != nil {
			t.Logf("%.80s: %v", schema, err)
			continue
		}
		checkGo(t, types)
	}
}
