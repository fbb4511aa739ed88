// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package valuetypes_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/component-operator/runtime/scaffold/internal/valuetypes"
)

// TestOptional checks which values are made up for what is empty by default.
func TestOptional(t *testing.T) {
	t.Parallel()
	for reason, test := range map[string]struct{ values, schema, want string }{
		"without a schema, only strings are known": {
			values: "host: ''\nname: shop\nlist: []\nmap: {}\nnothing:\non: false\nbelow:\n  secret: ''\n",
			want:   "below:\n  secret: example.org\nhost: example.org\n",
		},
		"a text matches pattern, enum and length": {
			values: "tag: ''\nclass: ''\nlevel: ''\nshort: ''\n",
			schema: `{"properties": {"tag": {"type": "string", "pattern": "^(v[0-9]+)?$"}, "class": {"enum": ["", "fast"]}, "level": {"type": "string", "enum": [""]},
				"short": {"type": "string", "maxLength": 7}}}`,
			want: "class: fast\nshort: example\n",
		},
		"a list gets one item, and an object that is missing all its fields": {
			values: "routes: []\n",
			schema: `{"properties": {
				"routes": {"type": "array", "items": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}, "stops": {"type": "array", "items": {"type": "string"}}}}},
				"tls": {"type": "object", "properties": {"enabled": {"type": "boolean"}, "port": {"type": "integer", "minimum": 1}}}}}`,
			want: "routes:\n- name: example.org\n  stops:\n  - example.org\ntls:\n  enabled: true\n  port: 1\n",
		},
		"a schema that refers to itself ends": {
			schema: `{"properties": {"tree": {"$ref": "#/$defs/tree"}}, "$defs": {"tree": {"type": "object", "properties": {"child": {"$ref": "#/$defs/tree"}}}}}`,
			want:   "{}\n",
		},
	} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			types, err := valuetypes.Derive(valuetypes.Chart{Values: []byte(test.values), Schema: []byte(test.schema)}, valuetypes.Options{Name: "ShopValues"})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, string(types.Optional)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
