// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// architecturePage is the page that describes the rooms to newcomers.
const architecturePage = "website/content/contributing/architecture.md"

var (
	baseOfPaths = regexp.MustCompile("Paths are relative to `([^`]+)`")
	function    = regexp.MustCompile("`([\\w/-]+\\.go)` `(\\w+)`")
	section     = regexp.MustCompile(`(?m)^#+ `)
)

// TestWalks checks that the functions exist to which the walks of the architecture page lead.
func TestWalks(t *testing.T) {
	t.Parallel()
	checked := 0
	for _, part := range section.Split(read(t, filepath.Join(top, architecturePage)), -1) {
		base := baseOfPaths.FindStringSubmatch(part)
		if base == nil {
			continue
		}
		for _, found := range function.FindAllStringSubmatch(part, -1) {
			checked++
			path := filepath.Join(base[1], found[1])
			if !declares(t, path, found[2]) {
				t.Errorf("the page says that %s has a function %s, which it has not", path, found[2])
			}
		}
	}
	if checked < 30 {
		t.Errorf("the page names %d functions; either its form has changed or the check does not understand it", checked)
	}
}

// sourcePath matches a path of the repository in Markdown, and captures it.
var sourcePath = regexp.MustCompile("`((?:bench|clm|examples|internal|pkg|scaffold|website)/[\\w./-]+)`")

// TestPathsExist checks the paths on the pages for contributors. Where a section says what its paths are relative to,
// TestWalks checks them.
func TestPathsExist(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob(filepath.Join(top, "website/content/contributing/*.md"))
	if err != nil || len(pages) == 0 {
		t.Fatalf("found no pages: %v", err)
	}
	for _, page := range pages {
		for _, part := range section.Split(read(t, page), -1) {
			if baseOfPaths.MatchString(part) {
				continue
			}
			for _, found := range sourcePath.FindAllStringSubmatch(part, -1) {
				if _, err := os.Stat(filepath.Join(top, found[1])); err != nil {
					t.Errorf("%s names %s, which does not exist", filepath.Base(page), found[1])
				}
			}
		}
	}
}

// declares reports whether a file declares a function, or a method, of a name.
func declares(t *testing.T, path, name string) bool {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(top, path), nil, parser.SkipObjectResolution)
	if err != nil {
		t.Error(err)
		return true
	}
	for _, declaration := range file.Decls {
		if function, ok := declaration.(*ast.FuncDecl); ok && function.Name.Name == name {
			return true
		}
	}
	return false
}
