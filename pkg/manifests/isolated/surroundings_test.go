// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package isolated_test

import (
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestContextValues fails when generators get a further value by their context: it has to be sent to the process, or asked for by
// a call, and then be added here.
func TestContextValues(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("../../../internal/generating/context.go")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, match := range regexp.MustCompile(`(?m)^\s+\w+Key\s+contextKey = "([^"]*)"$`).FindAllStringSubmatch(string(source), -1) {
		got = append(got, match[1])
	}
	slices.Sort(got)
	want := []string{
		"client", "component", "component digest", "component name", "component namespace", "component revision",
		"discovery", "installation state", "local client", "no local lookup", "reconciler name", "release hooks",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-sent +found in the context):\n%s", diff)
	}
}
