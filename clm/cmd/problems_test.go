// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"strings"
	"testing"
)

// TestProblemsHaveLines: each problem of a manifest has a line, and objects of a type that the cluster does not know are one problem.
func TestProblemsHaveLines(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	manifest := ""
	for _, kind := range []string{"Gadget", "Widget"} {
		for _, name := range strings.Split("abcdefgh", "") {
			manifest += "---\napiVersion: example.com/v1\nkind: " + kind + "\nmetadata: {namespace: apps, name: " + name + "}\n"
		}
	}
	got := p.clm("apply", "web", p.file("strangers.yaml", manifest))
	want := []string{
		"Error: 2 problems:",
		"  Gadget.example.com apps/a, Gadget.example.com apps/b, Gadget.example.com apps/c, Gadget.example.com apps/d, Gadget.example.com apps/e, and 3 more: type example.com/v1 Gadget is unknown to the cluster, ",
		"  Widget.example.com apps/a, Widget.example.com apps/b, Widget.example.com apps/c, Widget.example.com apps/d, Widget.example.com apps/e, and 3 more: type example.com/v1 Widget is unknown to the cluster, ",
	}
	lines := strings.Split(strings.TrimSuffix(got.stderr, "\n"), "\n")
	if got.code != 1 || len(lines) != len(want) {
		t.Fatalf("got code %d and %d lines:\n%s", got.code, len(lines), got.stderr)
	}
	for i, line := range lines {
		if !strings.HasPrefix(line, want[i]) {
			t.Errorf("want a line that begins with %q, got %q", want[i], line)
		}
	}
}
