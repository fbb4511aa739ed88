// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package valuetypes

import (
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"strings"
	"sync"
	"testing"
)

// FuzzDerive checks that no schema and no values make Derive panic, and that what it returns is valid Go.
func FuzzDerive(f *testing.F) {
	f.Add([]byte("a: 1"), []byte(`{"type": "object", "properties": {"a": {"type": "integer"}}}`))
	f.Add([]byte("# text\na: {b: [1, x]}"), []byte(``))
	f.Add([]byte(""), []byte(`{"oneOf": [{"required": ["a"]}, {"properties": {"b": {"enum": [1, "x", null]}}}], "properties": {"a": {"$ref": "#"}}}`))
	f.Add([]byte(""), []byte(`{"properties": {"a": {"items": {"type": ["string", "integer"]}, "if": {"minItems": 1}, "then": {"maxItems": 3}}}}`))
	f.Fuzz(func(t *testing.T, values, schema []byte) {
		result, err := Derive(Chart{Values: values, Schema: schema}, Options{Name: "FuzzValues"})
		if err != nil {
			return
		}
		checkGo(t, result)
	})
}

func TestFixturesAreValidGo(t *testing.T) {
	t.Parallel()
	for _, f := range fixtures(t) {
		result, err := Derive(f.chart, Options{Name: f.root})
		if err != nil {
			t.Fatal(err)
		}
		checkGo(t, result)
	}
}

// checkGo checks the types of declarations.
func checkGo(t *testing.T, result *Types) {
	t.Helper()
	var source strings.Builder
	source.WriteString("package values\n\nimport (\n")
	for _, path := range result.Imports {
		fmt.Fprintf(&source, "\t%s %q\n", Alias(path), path)
	}
	source.WriteString(")\n\n" + result.Declarations)
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "values.go", source.String(), parser.ParseComments)
	if err != nil {
		t.Fatalf("%v\n%s", err, source.String())
	}
	config := types.Config{Importer: stubs{}}
	if _, err := config.Check("values", fset, []*ast.File{file}, nil); err != nil {
		t.Fatalf("%v\n%s", err, source.String())
	}
}

// stubs has packages with the types that declarations use, so that nothing else is loaded.
type stubs struct{}

var stubbed sync.Map

// Import implements types.Importer.
func (stubs) Import(path string) (*types.Package, error) {
	if known, ok := stubbed.Load(path); ok {
		return known.(*types.Package), nil
	}
	source := map[string]string{
		jsonPackage:   "package v1\ntype JSON struct{ Raw []byte }",
		intstrPackage: "package intstr\ntype IntOrString struct{ IntVal int32 }",
	}[path]
	if source == "" {
		return importer.Default().Import(path)
	}
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "stub.go", source, 0)
	if err != nil {
		return nil, err
	}
	pkg, err := new(types.Config).Check(path, fset, []*ast.File{file}, nil)
	if err == nil {
		stubbed.Store(path, pkg)
	}
	return pkg, err
}
