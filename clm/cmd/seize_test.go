// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"path/filepath"
	"testing"
)

// TestAdoptionIsNotRepeated is about consent to take objects from others, which is given for one operation: when the
// objects have been handed over since, neither a rollback nor a repair takes them again.
func TestAdoptionIsNotRepeated(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.must("apply", "old", p.file("old.yaml", manifestOf("shared")))
	both, own := p.file("app.yaml", manifestOf("shared", "own")), p.file("app.yaml", manifestOf("own"))
	p.expect(p.clm("apply", "shop", both, "--adopt", "always"), 0, "ConfigMap PLACE/shared: adopted")
	p.expect(p.clm("apply", "shop", both), 0, "revision 1, is up to date")
	p.must("apply", "web", p.file("web.yaml", manifestOf("other")))
	p.must("move", "cm/shared", "--from", "shop", "--to", "web")
	p.must("apply", "shop", own)

	const refusal = "ConfigMap PLACE/shared: already exists and belongs to release PLACE/web"
	for _, args := range [][]string{{"1"}, {"1", "--adopt", "if-unowned"}, {"1", "--adopt", "never"}} {
		p.expect(p.clm(append([]string{"rollback", "shop"}, args...)...), exitRefused, refusal, "'--adopt always' adopts an object")
	}
	if owner := p.owner("shared"); owner != "web" {
		t.Fatalf("want release web to keep what it has, got owner %q", owner)
	}
	p.expect(p.clm("rollback", "shop", "1", "--adopt", "always"), 0, "ConfigMap PLACE/shared: adopted")

	// Nor does a repair.
	p.must("adopt", "web", "cm/shared")
	p.expect(p.clm("drift", "shop", "--correct"), exitRefused, "all corrections are refused")
	if owner := p.owner("shared"); owner != "web" {
		t.Fatalf("want release web to keep what it has, got owner %q", owner)
	}
	// A saved plan has it.
	plan := filepath.Join(t.TempDir(), "plan")
	p.must("plan", "shop", both, "--adopt", "always", "--out", plan)
	p.expect(p.clm("apply", "shop", "--plan", plan), 0, "ConfigMap PLACE/shared: adopted")
}
