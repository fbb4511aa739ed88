// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// mutant is a change of one function that breaks it. All fields are required unless they have a default.
type mutant struct {
	// Name is unique in the list.
	Name string `json:"name"`
	// Package is the directory of the function, below the root of the module.
	Package string `json:"package"`
	// Function is the name of the function or method, as in "go doc": New, Cache.Start.
	Function string `json:"function"`
	// Replace is a regular expression that matches exactly once in the body of the function.
	Replace string `json:"replace"`
	// By replaces what Replace matches; $1 is its first group. Defaults to nothing.
	By string `json:"by,omitempty"`
	// Tests selects the tests that should fail, as the flag -run of "go test" does.
	Tests string `json:"tests"`
	// TestPackage is the directory of the tests. Defaults to Package.
	TestPackage string `json:"testPackage,omitempty"`
}

// target is the package for "go test".
func (m mutant) target() string { return "./" + cmp.Or(m.TestPackage, m.Package) }

// read returns the mutants of the list whose names match a regular expression.
func read(names string) ([]mutant, error) {
	pattern, err := regexp.Compile(names)
	if err != nil {
		return nil, fmt.Errorf("flag -run: %w", err)
	}
	raw, err := os.ReadFile(filepath.FromSlash("internal/mutants/mutants.yaml"))
	if err != nil {
		return nil, fmt.Errorf("reading the list: %w", err)
	}
	var all, chosen []mutant
	if err := yaml.UnmarshalStrict(raw, &all); err != nil {
		return nil, fmt.Errorf("reading the list: %w", err)
	}
	seen := map[string]bool{}
	for i, m := range all {
		if m.Name == "" || m.Package == "" || m.Function == "" || m.Replace == "" || m.Tests == "" || seen[m.Name] {
			return nil, fmt.Errorf("entry %d (%q): name, package, function, replace and tests are required, and names are unique", i+1, m.Name)
		}
		seen[m.Name] = true
		if pattern.MatchString(m.Name) {
			chosen = append(chosen, m)
		}
	}
	if len(chosen) == 0 {
		return nil, errors.New("no mutant is chosen")
	}
	return chosen, nil
}

// apply returns the path of the changed file and its content.
func (m mutant) apply() (string, []byte, error) {
	pattern, err := regexp.Compile(m.Replace)
	if err != nil {
		return "", nil, fmt.Errorf("replace: %w", err)
	}
	code, err := build.ImportDir(m.Package, 0)
	if err != nil {
		return "", nil, fmt.Errorf("package: %w", err)
	}
	for _, name := range code.GoFiles {
		file := filepath.Join(m.Package, name)
		content, err := os.ReadFile(file)
		if err != nil {
			return "", nil, fmt.Errorf("reading the code: %w", err)
		}
		start, end := find(content, m.Function)
		if end == 0 {
			continue
		}
		body := content[start:end]
		if n := len(pattern.FindAllIndex(body, -1)); n != 1 {
			return "", nil, fmt.Errorf("replace matches %d times in %s of %s; must match once", n, m.Function, file)
		}
		return file, slices.Concat(content[:start], pattern.ReplaceAll(body, []byte(m.By)), content[end:]), nil
	}
	return "", nil, fmt.Errorf("%s has no function %s", m.Package, m.Function)
}

// find returns where the body of a function begins and ends, and zeros if the file does not contain the function.
func find(content []byte, function string) (start, end int) {
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, "", content, parser.SkipObjectResolution)
	if err != nil {
		return 0, 0 // the compiler will tell
	}
	for _, declaration := range parsed.Decls {
		if f, ok := declaration.(*ast.FuncDecl); ok && f.Body != nil && nameOf(f) == function {
			return files.Position(f.Body.Pos()).Offset, files.Position(f.Body.End()).Offset
		}
	}
	return 0, 0
}

// nameOf returns the name of a function, and for a method the name of its type before it.
func nameOf(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return f.Name.Name
	}
	receiver, _, _ := strings.Cut(strings.TrimPrefix(types.ExprString(f.Recv.List[0].Type), "*"), "[")
	return receiver + "." + f.Name.Name
}
