// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"slices"
	"testing"
)

// TestDescribe describes the test program itself.
func TestDescribe(t *testing.T) {
	t.Parallel()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	found, err := describe(path)
	if err != nil {
		t.Fatal(err)
	}
	if program := found.Metadata.Component; program.Type != "application" || len(program.Hashes) != 1 || len(program.Hashes[0].Content) != 64 {
		t.Errorf("got program %+v", program)
	}
	if !slices.ContainsFunc(found.Components, func(c component) bool { return c.Name == "std" && c.Version != "" }) {
		t.Error("the standard library is missing")
	}
	if _, err := describe("main.go"); err == nil {
		t.Error("a file that is no program was described")
	}
}
