// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package archtest

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// goBlock matches a block of Go code on a page, and captures its code.
var goBlock = regexp.MustCompile("(?ms)^```go\n(.*?)^```")

// TestSnippetsCompile checks that the Go code on some pages is, line by line, also in an example that is compiled.
func TestSnippetsCompile(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		page string
		// with is what a block has if it is checked; empty for all blocks of the page.
		with, example string
	}{
		{"concepts/behaviors.md", "", "pkg/behaviors/example_test.go"},
		{"concepts/sync-operations.md", "", "pkg/sync/example_test.go"},
		{"concepts/testing-operators.md", "generator.NewContext(", "pkg/generator/newcontext_test.go"},
	} {
		example, checked := "\n"+unindented(read(t, filepath.Join(top, tt.example))), 0
		for _, block := range goBlock.FindAllStringSubmatch(read(t, filepath.Join(top, "website/content", tt.page)), -1) {
			if !strings.Contains(block[1], tt.with) {
				continue
			}
			checked++
			if !strings.Contains(example, "\n"+unindented(block[1])) {
				t.Errorf("%s has code that is not in %s:\n%s", tt.page, tt.example, block[1])
			}
		}
		if checked == 0 {
			t.Errorf("%s has no such code; either its form has changed or the check does not understand it", tt.page)
		}
	}
}

// unindented returns the lines of a text without white space at their ends.
func unindented(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = strings.TrimSpace(line)
	}
	return strings.Join(lines, "\n")
}
