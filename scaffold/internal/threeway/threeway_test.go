// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package threeway_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/component-operator/runtime/scaffold/internal/threeway"
)

// TestDecide has a row for each combination: absent, or one of three contents, for each side.
func TestDecide(t *testing.T) {
	t.Parallel()
	for row, want := range map[[3]string]threeway.Action{
		// then, now, current
		{"", "", ""}: threeway.Keep, {"", "", "a"}: threeway.Keep, {"a", "a", ""}: threeway.Keep, {"a", "a", "a"}: threeway.Keep, {"a", "a", "b"}: threeway.Keep,
		{"a", "b", "a"}: threeway.Take, {"", "a", ""}: threeway.Take,
		{"a", "", "a"}:  threeway.Remove,
		{"a", "b", "b"}: threeway.Keep, {"a", "", ""}: threeway.Keep, {"", "a", "a"}: threeway.Keep,
		{"a", "b", "c"}: threeway.Merge,
		{"a", "b", ""}:  threeway.Leave,
		{"a", "", "b"}:  threeway.Conflict, {"", "a", "b"}: threeway.Conflict,
	} {
		if got := threeway.Decide(content(row[0]), content(row[1]), content(row[2])); got != want {
			t.Errorf("then %q, now %q, current %q: got %s, want %s", row[0], row[1], row[2], got, want)
		}
	}
	if got := threeway.Decide([]byte{}, nil, []byte{}); got != threeway.Remove {
		t.Errorf("an empty file exists: got %s, want %s", got, threeway.Remove)
	}
}

func content(text string) []byte {
	if text == "" {
		return nil
	}
	return []byte(text)
}

func TestMergeFiles(t *testing.T) {
	t.Parallel()
	then := "a\nb\nc\nd\ne\n"
	for name, row := range map[string]struct {
		now, current, want string
		conflicts          int
	}{
		"different lines": {"A\nb\nc\nd\ne\n", "a\nb\nc\nd\nE\n", "A\nb\nc\nd\nE\n", 0},
		"the same line":   {"A\nb\nc\nd\ne\n", "X\nb\nc\nd\ne\n", "<<<<<<< yours\nX\n=======\nA\n>>>>>>> scaffolded now\nb\nc\nd\ne\n", 1},
		"equal changes":   {"A\nb\nc\nd\ne\n", "A\nb\nc\nd\nE\n", "A\nb\nc\nd\nE\n", 0},
	} {
		merged, conflicts, err := threeway.MergeFiles(t.Context(), []byte(then), []byte(row.now), []byte(row.current))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(row.want, string(merged)); diff != "" || conflicts != row.conflicts {
			t.Errorf("%s: got %d conflicts, want %d; unexpected content:\n%s", name, conflicts, row.conflicts, diff)
		}
	}
}

func TestMergeModule(t *testing.T) {
	t.Parallel()
	then := "module example.org/x\n\ngo 1.26.0\n\nignore ./a\n\nrequire example.org/runtime v1.0.0\n\nreplace example.org/runtime => ../runtime\n"
	now := "module example.org/x\n\ngo 1.27.0\n\nignore (\n\t./a\n\t./b\n\t./c\n)\n\nrequire (\n\texample.org/lib v1.5.0\n\texample.org/new v0.1.0\n\texample.org/runtime v1.1.0\n)\n"
	current := `module example.org/x

go 1.26.0

require (
	example.org/lib v1.6.0
	example.org/runtime v1.0.0
)

require example.org/indirect v1.0.0 // indirect

replace example.org/runtime => ../runtime

replace example.org/indirect => ../mine

ignore ./b
`
	want := `module example.org/x

go 1.27.0

require (
	example.org/lib v1.6.0
	example.org/new v0.1.0
	example.org/runtime v1.1.0
)

require example.org/indirect v1.0.0 // indirect

replace example.org/indirect => ../mine

ignore (
	./b
	./c
)
`
	merged, err := threeway.MergeModule([]byte(then), []byte(now), []byte(current))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(merged)); diff != "" {
		t.Errorf("unexpected go.mod:\n%s", diff)
	}
	if _, err := threeway.MergeModule([]byte(then), []byte(now), []byte("modul x")); err == nil {
		t.Error("want an error for a file that is no go.mod")
	}
}
