// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package archtest

import (
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// goBlock matches a block of Go code on a page, and captures its code.
var goBlock = regexp.MustCompile("(?ms)^ *```go\n(.*?)^ *```")

// leftOut matches a comment that stands for code which a page leaves out.
var leftOut = regexp.MustCompile(`(?m)^\s*// (?:\.\.\.|…)\n`)

// TestSnippetsCompile checks that the Go code on all pages is also, line by line, in code that is compiled. A comment
// of an ellipsis stands for what a page leaves out.
func TestSnippetsCompile(t *testing.T) {
	t.Parallel()
	const snippets, bookshop = "examples/snippets/snippets.go", "examples/bookshop-operator/"
	typed := []string{"pkg/resources/example_mutations_test.go", "pkg/resources/example_life_test.go", "pkg/resources/example_options_test.go"}
	// These pages have a test of their own.
	checked := map[string][]string{"tutorials/operator-in-go.md": nil, "how-to/use-clients-in-generators.md": nil}
	for page, examples := range map[string][]string{
		"concepts/behaviors.md":       {"pkg/behaviors/example_test.go"},
		"concepts/sync-operations.md": {"pkg/sync/example_test.go"},
		"how-to/change-finalizers.md": {snippets},
		"how-to/test-an-operator.md":  {"pkg/generator/newcontext_test.go", snippets, "pkg/sandbox/example_test.go"},
		"concepts/components.md":      {snippets},
		"concepts/helm.md":            {snippets},
		"concepts/kustomize.md":       {snippets, "pkg/manifests/kustomize/sops/example_test.go"},
		"concepts/transformers.md":    {snippets},
		"concepts/typed-resources.md": typed,
		"reference/annotations.md":    {snippets},
		"reference/readiness.md":      {snippets},
		"how-to/kubebuilder.md":       {"examples/kubebuilder-operator/api/v1alpha1/guestbook_types.go", "examples/kubebuilder-operator/internal/controller/guestbook_controller.go"},

		"how-to/depend-on-other-components.md": {snippets},
		"how-to/generate-secrets.md":           {snippets},
		"how-to/grant-permissions.md":          {snippets},
		"how-to/restrict-tenants.md":           {snippets},
		"how-to/run-several-replicas.md":       {snippets},
		"reference/typed-resources.md":         typed,
		"how-to/gate-by-version.md":            append(slices.Clone(typed), bookshop+"resources.go", bookshop+"matrix_test.go"),
		"how-to/judge-health-in-go.md":         typed,
		"how-to/pass-data-between-objects.md":  typed,
		"how-to/wrap-a-chart.md":               {snippets},
		"how-to/write-a-typed-kind.md":         typed,
	} {
		checked[page] = examples
		compiled := ""
		for _, example := range examples {
			compiled += "\n" + unindented(read(t, filepath.Join(top, example)))
		}
		blocks := goBlock.FindAllStringSubmatch(read(t, filepath.Join(top, "website/content", page)), -1)
		if len(blocks) == 0 {
			t.Errorf("%s has no code; either its form has changed or the check does not understand it", page)
		}
		for _, block := range blocks {
			for _, part := range leftOut.Split(block[1], -1) {
				if part = unindented(strings.TrimSpace(part)); !strings.Contains(compiled, part) {
					t.Errorf("%s has code that is not in %s:\n%s", page, strings.Join(examples, " or "), part)
				}
			}
		}
	}
	for _, page := range pages(t) {
		if _, known := checked[page]; !known && goBlock.MatchString(read(t, filepath.Join(top, "website/content", page))) {
			t.Errorf("%s has Go code that no test compiles", page)
		}
	}
}

// yamlBlock matches a block of YAML on a page, and captures its content.
var yamlBlock = regexp.MustCompile("(?ms)^( *)```yaml\n(.*?)^ *```")

// TestYAMLOnPagesParses reads all YAML on the pages but templates. A line with an ellipsis alone stands for what a page
// leaves out.
func TestYAMLOnPagesParses(t *testing.T) {
	t.Parallel()
	count := 0
	for _, page := range pages(t) {
		for _, block := range yamlBlock.FindAllStringSubmatch(read(t, filepath.Join(top, "website/content", page)), -1) {
			if strings.Contains(block[2], "{{") {
				continue
			}
			count++
			content := strings.ReplaceAll(strings.TrimPrefix(block[2], block[1]), "\n"+block[1], "\n")
			for document := range strings.SplitSeq(content, "\n---\n") {
				var parsed any
				if err := yaml.UnmarshalStrict([]byte(document), &parsed); err != nil || parsed == nil {
					t.Errorf("%s: %v\n%s", page, err, document)
				}
			}
		}
	}
	if count < 15 {
		t.Errorf("only %d blocks were found", count)
	}
}

// pages returns the pages of the website.
func pages(t *testing.T) (all []string) {
	t.Helper()
	root := filepath.Join(top, "website/content")
	err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".md") {
			all = append(all, strings.TrimPrefix(filepath.ToSlash(path), filepath.ToSlash(root)+"/"))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// unindented returns the lines of code without white space at their ends, without empty lines, and without comments
// other than markers.
func unindented(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && (!strings.HasPrefix(line, "//") || strings.HasPrefix(line, "// +")) {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}
