// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"sigs.k8s.io/yaml"

	"github.com/component-operator/runtime/internal/display"
)

// TestPlansForPrograms writes a plan in all its forms.
func TestPlansForPrograms(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.must("apply", "web", p.file("first.yaml", configMap("a", "1")+configMap("b", "1")+configMap("c", "1")))
	secret := "\n---\n{apiVersion: v1, kind: Secret, metadata: {name: s}, stringData: {password: hidden}}\n"
	second := p.file("second.yaml", configMap("a", "2")+configMap("b", "1")+secret)
	markdown := p.must("plan", "web", second, "--diff", "-o", "markdown").stdout
	expectGolden(t, "plan.md", p.stable(markdown))
	if short := p.must("plan", "web", second, "-o", "markdown").stdout; strings.Contains(short, "details") || !strings.HasPrefix(markdown, strings.TrimSpace(short)) {
		t.Errorf("want the same without the diff, got %s", short)
	}
	expectGolden(t, "plan.json", p.stable(p.must("plan", "web", second, "-o", "json", "--diff").stdout))
	var asJSON, asYAML struct {
		Kind, Summary       string
		Revision, Unchanged int
		New                 bool
		Changes             []plannedChange
	}
	if err := json.Unmarshal([]byte(p.must("plan", "web", second, "-o", "json").stdout), &asJSON); err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal([]byte(p.must("plan", "web", second, "-o", "yaml").stdout), &asYAML); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(asJSON, asYAML, cmpopts.IgnoreUnexported(plannedChange{})); diff != "" || asJSON.Kind != "Plan" || !asJSON.New || asJSON.Revision != 2 || len(asJSON.Changes) != 3 || asJSON.Unchanged != 1 {
		t.Errorf("want the same plan in both forms, got %+v (-json +yaml):\n%s", asJSON, diff)
	}
	p.expect(p.clm("plan", "web", second, "--exit-code", "-o", "json"), exitChanges)
	p.must("delete", "web")
}

// TestAPlanFitsInAComment has changes that are longer than a comment of a pull request may be.
func TestAPlanFitsInAComment(t *testing.T) {
	t.Parallel()
	changes := []plannedChange{
		{Object: display.Object{Kind: "Huge"}, Diff: strings.Repeat("x", 100)}, {Object: display.Object{Kind: "Small"}, Diff: "+small"},
	}
	all := "| Huge |  |  |\n| Small |  |  |\n"
	for room, want := range map[int][3]string{
		1000: {all, strings.Repeat("x", 100) + "\n\n+small\n\n", ""},
		50:   {all, "+small\n\n", "1 diff"},
		20:   {"| Huge |  |  |\n", "", "1 row and 2 diffs"},
	} {
		table, diffs, left := fitting(changes, room)
		if got := [3]string{table, diffs, left}; got != want {
			t.Errorf("room for %d bytes: want %q, got %q", room, want, got)
		}
	}
}

// TestCells has texts that would mean something in Markdown.
func TestCells(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"plain":           "plain",
		"a|b":             `a\|b`,
		"<script>":        "&lt;script>",
		"two\nlines":      "two lines",
		"`code` *x* _y_":  `'code' \*x\* \_y\_`,
		"[link](to)":      `\[link](to)`,
		"ping @everybody": "ping @\u200beverybody",
	} {
		if got := cell(text); got != want {
			t.Errorf("%q: want %q, got %q", text, want, got)
		}
	}
	if got := fenceFor("a\n```\nb"); got != "````" {
		t.Errorf("want a longer fence, got %s", got)
	}
}

// TestDryRuns gives the flag to commands with and without a value.
func TestDryRuns(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	source := p.file("app.yaml", configMap("a", "1"))
	commands := [][]string{{"apply", "web", source}, {"rollback", "web", "1"}, {"orphan", "web", "cm/a"}, {"delete", "web"}}
	for i, args := range commands {
		for _, flag := range []string{"--dry-run", "--dry-run=client", "--dry-run=server"} {
			before := p.versions()
			if got := p.must(append(args, flag)...); got.stdout == "" {
				t.Errorf("clm %s %s: want to be told what would be done", args[0], flag)
			}
			if diff := cmp.Diff(before, p.versions()); diff != "" {
				t.Errorf("clm %s %s: something was done (-before +after):\n%s", args[0], flag, diff)
			}
		}
		p.expect(p.clm(append(args, "--dry-run", "server")...), 1, "the value of --dry-run needs an equals sign: --dry-run=server")
		if i == 0 {
			p.must(append(args, "--dry-run=none")...)
			p.must("apply", "web", p.file("app.yaml", configMap("a", "2")))
		}
	}
	// That is the name of the release.
	p.must("apply", "server", p.file("other.yaml", configMap("other", "1")), "--dry-run")
	p.must("apply", "other", p.file("other.yaml", configMap("other", "1")))
	p.must("move", "cm/a", "--from", "web", "--to", "other", "--dry-run=none")
	if got := p.must("orphan", "other", "cm/a", "--dry-run").stdout; got == "" {
		t.Error("want the object to be moved")
	}
	p.must("delete", "other")
	p.must("delete", "web", "--dry-run=none")
}
