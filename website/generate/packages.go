// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/build"
	"go/doc"
	"go/doc/comment"
	"go/format"
	"go/parser"
	"go/printer"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
)

const public = "github.com/component-operator/runtime/pkg/"

// A library has the public packages of the module.
type library struct {
	files    *token.FileSet
	packages map[string]*doc.Package
	anchors  map[string]map[string]string // import path, symbol, id of the heading
}

// writePackages writes a page for each public package below a folder of the module.
func writePackages(folder, target string) error {
	l := &library{files: token.NewFileSet(), packages: map[string]*doc.Package{}, anchors: map[string]map[string]string{}}
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		if name := entry.Name(); name == "internal" || name == "testdata" || name == "program" {
			return fs.SkipDir
		}
		relative, err := filepath.Rel(folder, path)
		if err != nil {
			return err
		}
		return l.read(path, public+filepath.ToSlash(relative))
	})
	if err != nil {
		return err
	}
	index := "---\ntitle: Go packages\nweight: 95\ngroup: Operators\ndescription: The Go API, package by package.\n---\n"
	if err := write(filepath.Join(target, "_index.md"), []byte(index)); err != nil {
		return err
	}
	for importPath, p := range l.packages {
		page, err := l.page(p)
		if err := errors.Join(err, write(filepath.Join(target, fileOf(importPath)), page)); err != nil {
			return err
		}
	}
	return nil
}

// read reads the package in a folder, unless there is none.
func (l *library) read(folder, importPath string) error {
	names, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		return err
	}
	var parsed []*ast.File
	for _, name := range names {
		if matches, err := build.Default.MatchFile(folder, filepath.Base(name)); err != nil || !matches {
			continue
		}
		file, err := parser.ParseFile(l.files, name, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		parsed = append(parsed, file)
	}
	if len(parsed) == 0 || parsed[0].Name.Name == "main" {
		return nil
	}
	p, err := doc.NewFromFiles(l.files, parsed, importPath)
	if err != nil {
		return fmt.Errorf("reading %s: %w", importPath, err)
	}
	if p.Doc == "" {
		return fmt.Errorf("%s has no documentation", importPath)
	}
	anchors := map[string]string{}
	values := func(values []*doc.Value, anchor string) {
		for _, value := range values {
			for _, name := range value.Names {
				anchors[name] = anchor
			}
		}
	}
	functions := func(functions []*doc.Func, receiver string) {
		for _, f := range functions {
			anchors[receiver+f.Name] = receiver + f.Name
		}
	}
	values(p.Consts, "constants")
	values(p.Vars, "variables")
	functions(p.Funcs, "")
	for _, t := range p.Types {
		anchors[t.Name] = t.Name
		values(t.Consts, t.Name)
		values(t.Vars, t.Name)
		functions(t.Funcs, "")
		functions(t.Methods, t.Name+".")
	}
	l.packages[importPath], l.anchors[importPath] = p, anchors
	return nil
}

// fileOf returns the name of the page about a package.
func fileOf(importPath string) string {
	return strings.ReplaceAll(strings.TrimPrefix(importPath, public), "/", "-") + ".md"
}

// page returns the page about a package.
func (l *library) page(p *doc.Package) ([]byte, error) {
	w := &writer{library: l, pkg: p, printer: p.Printer()}
	w.printer.HeadingLevel = 3
	w.printer.DocLinkURL = w.link
	w.text("---\ntitle: %s\ndescription: %q\ngenerated: true\n---\n\n", strings.TrimPrefix(p.ImportPath, public), p.Synopsis(p.Doc))
	w.code("import \"" + p.ImportPath + "\"")
	w.doc(p.Doc)
	w.examples(p.Examples)
	if len(p.Consts) > 0 {
		w.heading(2, "Constants", "constants")
		w.values(p.Consts)
	}
	if len(p.Vars) > 0 {
		w.heading(2, "Variables", "variables")
		w.values(p.Vars)
	}
	if len(p.Funcs) > 0 {
		w.heading(2, "Functions", "functions")
		w.functions(p.Funcs, 3, "")
	}
	if len(p.Types) > 0 {
		w.heading(2, "Types", "types")
	}
	for _, t := range p.Types {
		w.heading(3, t.Name, t.Name)
		w.declaration(t.Decl)
		w.doc(t.Doc)
		w.examples(t.Examples)
		w.values(slices.Concat(t.Consts, t.Vars))
		w.functions(t.Funcs, 4, "")
		w.functions(t.Methods, 4, t.Name+".")
	}
	return w.out.Bytes(), w.err
}

// A writer writes the page about a package.
type writer struct {
	*library
	pkg     *doc.Package
	printer *comment.Printer
	out     bytes.Buffer
	err     error // of what could not be printed
}

func (w *writer) text(form string, args ...any) { fmt.Fprintf(&w.out, form, args...) }

func (w *writer) heading(level int, text, id string) {
	w.text("%s %s {#%s}\n\n", strings.Repeat("#", level), text, id)
}

func (w *writer) code(text string) { w.text("```go\n%s\n```\n\n", strings.TrimSpace(text)) }

func (w *writer) doc(text string) {
	w.text("%s\n", w.printer.Markdown(w.pkg.Parser().Parse(text)))
}

func (w *writer) declaration(node ast.Node) {
	var out bytes.Buffer
	if err := (&printer.Config{Mode: printer.UseSpaces | printer.TabIndent, Tabwidth: 4}).Fprint(&out, w.files, node); err != nil {
		w.err = errors.Join(w.err, err)
	}
	w.code(out.String())
}

func (w *writer) values(values []*doc.Value) {
	for _, value := range values {
		w.declaration(value.Decl)
		w.doc(value.Doc)
	}
}

func (w *writer) functions(functions []*doc.Func, level int, receiver string) {
	for _, f := range functions {
		w.heading(level, receiver+f.Name, receiver+f.Name)
		f.Decl.Body = nil
		w.declaration(f.Decl)
		w.doc(f.Doc)
		w.examples(f.Examples)
	}
}

func (w *writer) examples(examples []*doc.Example) {
	for _, example := range examples {
		w.text("*%s*\n\n", strings.TrimSpace("Example "+strings.ReplaceAll(example.Suffix, "_", " ")))
		w.doc(example.Doc)
		var node any = &printer.CommentedNode{Node: example.Code, Comments: example.Comments}
		if example.Play != nil {
			node = example.Play
		}
		var out bytes.Buffer
		if err := format.Node(&out, w.files, node); err != nil {
			w.err = errors.Join(w.err, err)
		}
		w.code(unwrap(out.String()))
		if example.Output != "" {
			w.text("```text\n%s\n```\n\n", strings.TrimSpace(example.Output))
		}
	}
}

// unwrap removes the braces of a block, its indentation, and the expected output.
func unwrap(code string) string {
	if !strings.HasPrefix(code, "{") {
		return code
	}
	body, _, _ := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(code, "{"), "}"), "\t// Output:")
	return strings.ReplaceAll(body, "\n\t", "\n")
}

// link returns the address of a symbol: a page of this site for packages of the module, pkg.go.dev for others.
func (w *writer) link(link *comment.DocLink) string {
	symbol := strings.TrimPrefix(link.Recv+"."+link.Name, ".")
	importPath := link.ImportPath
	if importPath == "" {
		importPath = w.pkg.ImportPath
	}
	address := "https://pkg.go.dev/" + importPath
	if anchors, known := w.anchors[importPath]; known {
		address, symbol = fileOf(importPath), anchors[symbol]
		if importPath == w.pkg.ImportPath {
			address = ""
		}
	}
	if symbol != "" {
		address += "#" + symbol
	}
	return address
}
