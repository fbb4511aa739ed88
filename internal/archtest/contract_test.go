// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package archtest

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// interfaceLine matches the line of an interface, and captures its name.
var interfaceLine = regexp.MustCompile(`^type (\w+)(?:\[.*\])? interface\{`)

// TestContract compares the exported API with what existing operators, their tests and the definitions of their
// components rely on: a package keeps each line of its file in testdata/contract. An interface in such a file gains no
// method, because operators implement it.
func TestContract(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/contract/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("found no contract: %v", err)
	}
	for _, file := range files {
		api := strings.Split(read(t, filepath.Join("testdata/api", filepath.Base(file))), "\n")
		contract := strings.Split(strings.TrimSpace(read(t, file)), "\n")
		for _, line := range contract {
			if !slices.Contains(api, line) {
				t.Errorf("%s: the API does not have %q any more", file, line)
			}
			found := interfaceLine.FindStringSubmatch(line)
			for _, other := range api {
				if found != nil && strings.HasPrefix(other, "func "+found[1]+".") && !slices.Contains(contract, other) {
					t.Errorf("%s: the interface must not gain a method: %q", file, other)
				}
			}
		}
	}
}
