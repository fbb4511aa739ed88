// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
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
	if diff := cmp.Diff(asJSON, asYAML); diff != "" || asJSON.Kind != "Plan" || !asJSON.New || asJSON.Revision != 2 || len(asJSON.Changes) != 3 || asJSON.Unchanged != 1 {
		t.Errorf("want the same plan in both forms, got %+v (-json +yaml):\n%s", asJSON, diff)
	}
	p.expect(p.clm("plan", "web", second, "--exit-code", "-o", "json"), exitChanges)
	p.must("delete", "web")
}

// TestAPlanFitsInAComment has plans that are longer than a comment of a pull request may be. What is left out is named exactly.
func TestAPlanFitsInAComment(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	maps := func(n int, label string, value func(i int) string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: c-%04d, labels: {chart: %s}}, data: {value: %q}}\n", i, label, value(i))
		}
		return b.String()
	}
	unlike := func(i int) string { return strings.Repeat(fmt.Sprint(i%10), 200) }
	one := p.file("one.yaml", maps(300, "one", unlike))
	long := p.must("plan", "web", one, "--diff", "-o", "markdown").stdout
	expectFitting(t, long)
	rows, diffs := strings.Count(long, "\n| ConfigMap "), strings.Count(long, "\n+ ConfigMap ")
	first := fmt.Sprintf("c-%04d", diffs)
	want := fmt.Sprintf("\n\nLeft out, because a comment cannot be longer: the diffs of %d objects, such as ConfigMap PLACE/%s. "+
		"To see everything, with the sources and flags of this plan: `clm diff web SOURCE... -n PLACE`\n", 300-diffs, first)
	if text := p.stable(long); rows != 300 || diffs < 50 || diffs > 250 || !strings.Contains(text, "**300 to create**") || !strings.Contains(text, want) || strings.Contains(text, "+ ConfigMap PLACE/"+first) {
		t.Errorf("want 300 rows, some diffs and %q, got %d rows and %d diffs: %s", want, rows, diffs, text)
	}
	long = p.must("plan", "web", p.file("many.yaml", maps(1500, "one", func(int) string { return "" })), "-o", "markdown").stdout
	expectFitting(t, long)
	rows = strings.Count(long, "\n| ConfigMap ")
	want = fmt.Sprintf("\n\nLeft out, because a comment cannot be longer: the rows of %d objects, such as ConfigMap PLACE/c-%04d. "+
		"To see everything, with the sources and flags of this plan: `clm plan web SOURCE... -n PLACE`\n", 1500-rows, rows)
	if text := p.stable(long); rows < 500 || !strings.HasSuffix(strings.TrimSpace(text), strings.TrimSpace(want)) || !strings.Contains(text, "**1500 to create**") {
		t.Errorf("want some rows and %q, got %d rows: %s", want, rows, text)
	}
	p.must("apply", "web", p.file("few.yaml", maps(30, "one", unlike)))
	// The deletion comes last in the plan, and one diff alone does not fit.
	huge := configMap("a-huge", strings.Repeat("x", 70000)) + configMap("z-small", "1") + maps(29, "one", unlike)
	long = p.must("plan", "web", p.file("huge.yaml", huge), "--diff", "-o", "markdown").stdout
	deletion, creation := strings.Index(long, "| delete |"), strings.Index(long, "| create |")
	if deletion < 0 || deletion > creation || !strings.Contains(p.stable(long), "Left out, because a comment cannot be longer: the diff of ConfigMap PLACE/a-huge. ") || !strings.Contains(long, "/z-small  (create") {
		t.Errorf("want the deletion first, and all diffs but that of a-huge, got %s", long)
	}
	two := p.file("two.yaml", maps(28, "two", unlike)+configMap("c-0028", "other")+configMap("new", "1"))
	expectGolden(t, "plan-alike.md", p.stable(p.must("plan", "web", two, "--diff", "-o", "markdown").stdout))
	p.must("delete", "web")
}

// expectFitting requires a text that uses the length of a comment, and no more.
func expectFitting(t *testing.T, text string) {
	t.Helper()
	if n := utf8.RuneCountInString(text); n > 60000 || n < 55000 {
		t.Errorf("want at most 60000 characters, and not many less, got %d", n)
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
