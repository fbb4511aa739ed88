// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const (
	// mostMethods is how many methods a type may have: with more, it is a package that hides nothing.
	mostMethods = 30
	// mostFiles is how many files a package may have.
	mostFiles = 25
)

// commandFiles is the package that has a file for each command, however many there are.
const commandFiles = "clm/cmd"

// TestSizes checks that packages and types stay as small as a reader can grasp.
func TestSizes(t *testing.T) {
	t.Parallel()
	sizes := map[string]int{}
	for path, files := range sourceFiles(t) {
		sizes[path] = len(files)
		for _, file := range files {
			for _, declaration := range file.Decls {
				if function, ok := declaration.(*ast.FuncDecl); ok && function.Recv != nil {
					sizes[path+"."+receiver(function)]++
				}
			}
		}
	}
	for name, size := range sizes {
		limit, kind := mostFiles, "files"
		if strings.Contains(filepath.Base(name), ".") {
			limit, kind = mostMethods, "methods"
		}
		if size > limit && name != commandFiles {
			t.Errorf("%s has %d %s; allowed are %d", name, size, kind, limit)
		}
	}
}

// sourceFiles returns the files that are compiled into programs and written by people, by the paths of their packages.
func sourceFiles(t *testing.T) map[string][]*ast.File {
	t.Helper()
	found := map[string][]*ast.File{}
	err := filepath.WalkDir(top, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir():
			if path != top && (strings.HasPrefix(entry.Name(), ".") || slices.Contains([]string{"testdata", "website", "bin"}, entry.Name())) {
				return fs.SkipDir
			}
			return nil
		case !strings.HasSuffix(path, ".go"), strings.HasSuffix(path, "_test.go"), strings.HasPrefix(entry.Name(), "zz_generated"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return fmt.Errorf("reading %s: %w", path, err)
		}
		below, err := filepath.Rel(top, filepath.Dir(path))
		found[filepath.ToSlash(below)] = append(found[filepath.ToSlash(below)], file)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// receiver returns the name of the type whose method a function is.
func receiver(function *ast.FuncDecl) string {
	expression := function.Recv.List[0].Type
	for {
		switch inner := expression.(type) {
		case *ast.StarExpr:
			expression = inner.X
		case *ast.IndexExpr:
			expression = inner.X
		case *ast.IndexListExpr:
			expression = inner.X
		case *ast.Ident:
			return inner.Name
		default:
			return ""
		}
	}
}
