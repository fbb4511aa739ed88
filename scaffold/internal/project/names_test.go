// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package project

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"strconv"
	"strings"
	"testing"
)

// TestNamesInMain checks that no kind is accepted whose package main.go could not call, because it uses the name for something else; and that plausible kinds are.
func TestNamesInMain(t *testing.T) {
	t.Parallel()
	file, err := parser.ParseFile(token.NewFileSet(), "main.go", render(t, variants["go-both"])["main.go"].Content, 0)
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, imported := range file.Imports {
		source, err := strconv.Unquote(imported.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		names[path.Base(source)] = imported.Name == nil
		if imported.Name != nil {
			names[imported.Name.Name] = true
		}
	}
	for _, declaration := range file.Decls {
		function, isFunction := declaration.(*ast.FuncDecl)
		if isFunction && function.Recv == nil {
			names[function.Name.Name] = true
			definedBeforeUse(function, "webshop", names)
		}
	}
	for name, declared := range names {
		kind := strings.ToUpper(name[:1]) + name[1:]
		if lower := strings.ToLower(name) == name; declared && lower && name != "webshop" && len(kindProblems(kind)) == 0 {
			t.Errorf("kind %s is accepted, but main.go has another %s", kind, name)
		}
	}
	for _, kind := range []string{"Config", "Host", "Component", "Scheduler"} {
		if problems := kindProblems(kind); len(problems) > 0 {
			t.Errorf("kind %s is refused: %v", kind, problems)
		}
	}
}

// definedBeforeUse adds the names that a function defines before it uses a package for the last time.
func definedBeforeUse(function *ast.FuncDecl, used string, names map[string]bool) {
	last := token.NoPos
	ast.Inspect(function, func(node ast.Node) bool {
		if selector, ok := node.(*ast.SelectorExpr); ok {
			if name, ok := selector.X.(*ast.Ident); ok && name.Name == used {
				last = max(last, selector.Pos())
			}
		}
		return true
	})
	ast.Inspect(function, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.AssignStmt:
			for _, left := range node.Lhs {
				if name, ok := left.(*ast.Ident); ok && node.Tok == token.DEFINE && node.End() < last {
					names[name.Name] = true
				}
			}
		case *ast.ValueSpec:
			for _, name := range node.Names {
				names[name.Name] = names[name.Name] || node.End() < last
			}
		}
		return true
	})
}
