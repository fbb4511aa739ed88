// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the program into the README")

const (
	readmePath = "../../README.md"
	quoteStart = "```go\n"
	quoteEnd   = "```\n"
)

// TestReadmeQuotesTheProgram checks that the README shows the program that is compiled.
func TestReadmeQuotesTheProgram(t *testing.T) {
	program := read(t, "main.go")
	_, quoted, found := strings.Cut(program, "\n)\n\n") // what follows the imports
	if !found {
		t.Fatal("main.go has no imports to begin after")
	}
	readme := read(t, readmePath)
	before, rest, foundStart := strings.Cut(readme, quoteStart)
	block, after, foundEnd := strings.Cut(rest, quoteEnd)
	if !foundStart || !foundEnd {
		t.Fatalf("%s has no block of Go", readmePath)
	}
	if *update {
		if err := os.WriteFile(readmePath, []byte(before+quoteStart+quoted+quoteEnd+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(quoted, block); diff != "" {
		t.Errorf("the README shows another program than main.go; run this test with -update (-main.go +README):\n%s", diff)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}
