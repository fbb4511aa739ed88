// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package fieldset_test

import (
	"testing"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"github.com/component-operator/runtime/internal/fieldset"
)

// TestNotation: what ParsePaths reads from the text must be the same path, or there is no text.
func TestNotation(t *testing.T) {
	t.Parallel()
	item := value.NewValueInterface("a]b")
	for _, tc := range []struct {
		path fieldpath.Path
		want string
	}{
		{fieldpath.MakePathOrDie("spec", "replicas"), "spec.replicas"},
		{fieldpath.MakePathOrDie("data", "app.yaml"), `data["app.yaml"]`},
		{fieldpath.MakePathOrDie("metadata", "annotations", "example.com/a"), `metadata.annotations["example.com/a"]`},
		{fieldpath.MakePathOrDie("data", `a,"b"]`, "c"), `data["a,\"b\"]"].c`},
		{fieldpath.MakePathOrDie("data", ""), `data[""]`},
		{
			fieldpath.MakePathOrDie("spec", "ports", fieldpath.KeyByFields("port", 80, "protocol", "TCP"), "nodePort"),
			`spec.ports[port=80,protocol="TCP"].nodePort`,
		},
		{fieldpath.MakePathOrDie("spec", "names", item), `spec.names[="a]b"]`},
		{fieldpath.MakePathOrDie("spec", "names", 3), ""},
		{fieldpath.MakePathOrDie("a.b", "c"), ""},
	} {
		if got := fieldset.Notation(tc.path); got != tc.want {
			t.Errorf("%s: want %q, got %q", tc.path, tc.want, got)
		}
	}
}
