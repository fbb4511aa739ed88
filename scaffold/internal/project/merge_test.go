// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package project

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

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
	merged, err := mergeModule([]byte(then), []byte(now), []byte(current))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(merged)); diff != "" {
		t.Errorf("unexpected go.mod:\n%s", diff)
	}
	if _, err := mergeModule([]byte(then), []byte(now), []byte("modul x")); err == nil {
		t.Error("want an error for a file that is not a go.mod file")
	}
}
