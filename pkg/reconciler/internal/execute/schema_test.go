// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package execute

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// TestSchemas says which fields a server drops, and which objects it refuses.
func TestSchemas(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		reason, spec, object string
		unknown              []string
		problem              string // a part of the only one; empty if there is none
	}{
		{"all is well", "{type: object, properties: {size: {type: integer}}}", "{size: 3}", nil, ""},
		{"another type", "{type: object, properties: {size: {type: integer}}}", "{size: big}", nil, "spec.size must be of type integer"},
		{"a field that is missing", "{type: object, required: [size], properties: {size: {type: integer}}}", "{}", nil, "spec.size"},
		{"a default of a field that is missing", "{type: object, required: [size], properties: {size: {type: integer, default: 2}}}", "{}", nil, ""},
		{"a value that is not allowed", "{type: object, properties: {size: {type: string, enum: [small, large]}}}", "{size: huge}", nil, "spec.size"},
		{"a value that is too large", "{type: object, properties: {size: {type: integer, maximum: 5}}}", "{size: 7}", nil, "spec.size"},
		{"null where it is allowed", "{type: object, properties: {size: {type: integer, nullable: true}}}", "{size: null}", nil, ""},
		{"an unknown field", "{type: object, properties: {size: {type: integer}}}", "{sise: 3}", []string{"spec.sise"}, ""},
		{"unknown fields in a list", "{type: object, properties: {l: {type: array, items: {type: object, properties: {a: {type: string}}}}}}", "{l: [{a: x}, {b: y}]}", []string{"spec.l.1.b"}, ""},
		{"unknown fields are preserved", "{type: object, x-kubernetes-preserve-unknown-fields: true}", "{any: {thing: 3}}", nil, ""},
		{"a map", "{type: object, additionalProperties: {type: integer}}", "{a: 1, b: x}", nil, "spec.b must be of type integer"},
		{"an integer or a string", "{type: object, properties: {port: {x-kubernetes-int-or-string: true, format: int-or-string}}}", "{port: 80}", nil, ""},
		{"a string or an integer", "{type: object, properties: {port: {anyOf: [{type: integer}, {type: string}], x-kubernetes-int-or-string: true}}}", "{port: http}", nil, ""},
		{"a format that servers ignore", "{type: object, properties: {at: {type: string, format: whenever}}}", "{at: now}", nil, ""},
		{"a field with the name of a keyword", "{type: object, properties: {format: {type: string}, type: {type: string}}}", "{format: a, type: 3}", nil, "spec.type must be of type string"},
		{
			"an embedded object", "{type: object, properties: {o: {type: object, x-kubernetes-embedded-resource: true, properties: {metadata: {type: object}, spec: {type: object}}}}}",
			"{o: {apiVersion: v1, kind: X, metadata: {labels: {a: b}}, spec: {}, other: 1}}",
			[]string{"spec.o.other"},
			"",
		},
		{"a reference, which servers refuse", `{type: object, properties: {size: {"$ref": "#/definitions/size"}}}`, "{size: 3}", nil, ""},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			t.Parallel()
			schema, object := OpenSchema{}, map[string]any{}
			parse(t, "{type: object, properties: {spec: "+tc.spec+"}}", &schema)
			parse(t, "{apiVersion: example.com/v1, kind: X, metadata: {name: x}, spec: "+tc.object+"}", &object)
			content, _ := Integers(object).(map[string]any)
			if diff := cmp.Diff(tc.unknown, schema.Complete(content)); diff != "" {
				t.Errorf("unknown fields (-want +got):\n%s", diff)
			}
			problems := schema.Problems(content)
			if len(problems) > 1 || (len(problems) == 1) != (tc.problem != "") || !strings.Contains(strings.Join(problems, "; "), tc.problem) {
				t.Errorf("want %q, got %q", tc.problem, problems)
			}
		})
	}
	if none := OpenSchema(nil); none.Complete(map[string]any{"a": 1}) != nil || none.Problems(map[string]any{"a": 1}) != nil {
		t.Error("no schema accepts everything")
	}
}

func parse(t *testing.T, document string, into any) {
	t.Helper()
	if err := yaml.Unmarshal([]byte(document), into); err != nil {
		t.Fatal(err)
	}
}
