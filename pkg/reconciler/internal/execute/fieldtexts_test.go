// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package execute

import (
	"slices"
	"testing"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

func TestFieldTexts(t *testing.T) {
	t.Parallel()
	member := func(text string) value.Value { return value.NewValueInterface(text) }
	paths := []fieldpath.Path{
		fieldpath.MakePathOrDie("spec", "containers", fieldpath.KeyByFields("name", "web"), "image"),
		fieldpath.MakePathOrDie("spec", "tokens", member("secret"), "x"),
		fieldpath.MakePathOrDie("metadata", "finalizers", member("example.io/x")),
	}
	want := `.spec.containers[name="web"].image, .spec.tokens[=***].x, .metadata.finalizers[="example.io/x"]`
	if got := FieldTexts(paths); got != want {
		t.Errorf("want %s, got %s", want, got)
	}
	many := slices.Repeat([]fieldpath.Path{fieldpath.MakePathOrDie("data", "a")}, 7)
	if got, want := FieldTexts(many[:6]), ".data.a, .data.a, .data.a, .data.a, .data.a, .data.a"; got != want {
		t.Errorf("want %s, got %s", want, got)
	}
	if got, want := FieldTexts(many), ".data.a, .data.a, .data.a, .data.a, .data.a, and 2 more"; got != want {
		t.Errorf("want %s, got %s", want, got)
	}
}
