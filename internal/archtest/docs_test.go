// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/component-operator/runtime/pkg/component"
)

const top = "../.."

// TestAnnotationsAreDocumented checks that the reference names each annotation key that the vocabulary has.
func TestAnnotationsAreDocumented(t *testing.T) {
	t.Parallel()
	reference := read(t, filepath.Join(top, "website/content/reference/annotations.md"))
	suffixes := annotationSuffixes(t)
	if len(suffixes) == 0 {
		t.Fatal("found no annotation keys")
	}
	for name, suffix := range suffixes {
		if !strings.Contains(reference, "`"+suffix+"`") {
			t.Errorf("the reference of annotations does not mention %s (%s)", suffix, name)
		}
	}
}

// TestReferenceHasAllOptions compares the page with the options of the reconciler, and with the values that the specs
// of components may have.
func TestReferenceHasAllOptions(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile(filepath.Join(top, "website/content/reference/options.md"))
	if err != nil {
		t.Fatal(err)
	}
	reference := string(raw)
	for field := range reflect.TypeFor[component.ReconcilerOptions]().Fields() {
		if field.IsExported() && !strings.Contains(reference, "\n| `"+field.Name+"` |") {
			t.Errorf("the option %s is missing", field.Name)
		}
	}
	specs, err := os.ReadFile(filepath.Join(top, "pkg/component/specs.go"))
	if err != nil {
		t.Fatal(err)
	}
	enums := regexp.MustCompile(`validation:Enum=(\S+)\n\t\w+ \S+ +.json:"(\w+),`).FindAllStringSubmatch(string(specs), -1)
	if len(enums) < 6 {
		t.Fatalf("found only %d fields with values", len(enums))
	}
	for _, enum := range enums {
		if want := "| `" + enum[2] + "` | `" + strings.ReplaceAll(enum[1], ";", "`, `") + "` |"; enum[2] != "presence" && !strings.Contains(reference, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
}

// annotationSuffixes returns the values of all constants for suffixes of annotation keys, by name.
func annotationSuffixes(t *testing.T) map[string]string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(top, "pkg/types/annotations.go"), nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	suffixes := map[string]string{}
	ast.Inspect(file, func(node ast.Node) bool {
		spec, ok := node.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 || !strings.HasPrefix(spec.Names[0].Name, "AnnotationKeySuffix") {
			return true
		}
		if literal, ok := spec.Values[0].(*ast.BasicLit); ok && literal.Kind == token.STRING {
			if suffixes[spec.Names[0].Name], err = strconv.Unquote(literal.Value); err != nil {
				t.Errorf("%s: %v", spec.Names[0].Name, err)
			}
		}
		return true
	})
	return suffixes
}

// link matches a link of Markdown and captures where it leads.
var link = regexp.MustCompile(`\]\(([^)\s]+)\)`)

// TestLinksLeadSomewhere follows the links from one file of the project to another.
func TestLinksLeadSomewhere(t *testing.T) {
	t.Parallel()
	err := filepath.WalkDir(top, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (strings.HasPrefix(entry.Name(), ".git") || entry.Name() == "testdata" || entry.Name() == "bin"):
			return filepath.SkipDir
		case filepath.Ext(path) == ".md":
			followLinks(t, path)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func followLinks(t *testing.T, path string) {
	t.Helper()
	var text strings.Builder
	for i, part := range strings.Split(read(t, path), "```") {
		if i%2 == 0 { // the others are blocks of code
			text.WriteString(part)
		}
	}
	for _, match := range link.FindAllStringSubmatch(text.String(), -1) {
		target, _, _ := strings.Cut(match[1], "#")
		if target == "" || strings.Contains(target, "://") {
			continue
		}
		if _, err := os.Stat(filepath.Join(filepath.Dir(path), target)); err != nil {
			t.Errorf("%s: the link to %s leads nowhere", path, target)
		}
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}
