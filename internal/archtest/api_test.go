// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package archtest

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the exported API to the golden files")

// TestExportedAPI compares what the packages for users export with golden files: a change of the API is to be seen, and
// to be wanted. With -update it writes the files.
func TestExportedAPI(t *testing.T) {
	t.Parallel()
	packages := publicPackages(t)
	for path, pkg := range packages {
		golden := filepath.Join("testdata", "api", strings.ReplaceAll(path, "/", "_")+".txt")
		lines := exported(pkg)
		for _, line := range lines {
			if strings.Contains(line, "internal/") {
				t.Errorf("%s mentions an internal type: %s", path, line)
			}
		}
		got := strings.Join(lines, "\n") + "\n"
		if *update {
			if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
			t.Errorf("the exported API of %s has changed; if that is wanted: go test ./internal/archtest -run %s -update (-want +got)\n%s", path, t.Name(), diff)
		}
	}
	if files, err := filepath.Glob("testdata/api/*.txt"); err != nil || len(files) != len(packages) {
		t.Errorf("testdata/api has %d files for %d packages (%v)", len(files), len(packages), err)
	}
}

// publicPackages returns the packages below pkg that users import, by their paths below the module.
func publicPackages(t *testing.T) map[string]*types.Package {
	t.Helper()
	exports := map[string]string{}
	var public []string
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "-export", "-json=ImportPath,Export,Name", module+"/pkg/...")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("running %s: %v", cmd, err)
	}
	for decoder := json.NewDecoder(strings.NewReader(string(out))); ; {
		var listed struct{ ImportPath, Export, Name string }
		if err := decoder.Decode(&listed); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		exports[listed.ImportPath] = listed.Export
		below, own := strings.CutPrefix(listed.ImportPath, module+"/pkg/")
		if own && listed.Name != "main" && !slices.Contains(strings.Split(below, "/"), "internal") {
			public = append(public, "pkg/"+below)
		}
	}
	compiled := importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	packages := map[string]*types.Package{}
	for _, path := range public {
		if packages[path], err = compiled.Import(module + "/" + path); err != nil {
			t.Fatal(err)
		}
	}
	return packages
}

// exported describes all that a package exports, a line each, sorted.
func exported(pkg *types.Package) []string {
	qualifier := func(other *types.Package) string {
		if other == pkg {
			return ""
		}
		return strings.TrimPrefix(other.Path(), module+"/")
	}
	var lines []string
	for _, name := range pkg.Scope().Names() {
		object := pkg.Scope().Lookup(name)
		text := types.TypeString(object.Type(), qualifier)
		if !object.Exported() {
			continue
		}
		switch object := object.(type) {
		case *types.Const:
			lines = append(lines, fmt.Sprintf("const %s %s = %s", name, text, object.Val()))
		case *types.TypeName:
			lines = append(append(lines, describeType(object, qualifier)), membersOf(object, qualifier)...)
		case *types.Func:
			lines = append(lines, "func "+name+strings.TrimPrefix(text, "func"))
		default:
			lines = append(lines, fmt.Sprintf("var %s %s", name, text))
		}
	}
	slices.Sort(lines)
	return lines
}

// membersOf describes the exported methods and fields of a type, and all methods of an interface.
func membersOf(name *types.TypeName, qualifier types.Qualifier) (lines []string) {
	named, ok := name.Type().(*types.Named)
	if !ok {
		return nil
	}
	note := func(receiver string, method *types.Func) {
		if method.Exported() || types.IsInterface(named) {
			lines = append(lines, "func "+receiver+"."+method.Name()+strings.TrimPrefix(types.TypeString(method.Type(), qualifier), "func"))
		}
	}
	for method := range named.Methods() {
		if _, isPointer := method.Signature().Recv().Type().(*types.Pointer); isPointer {
			note("(*"+name.Name()+")", method)
		} else {
			note(name.Name(), method)
		}
	}
	switch underlying := named.Underlying().(type) {
	case *types.Struct:
		for i := range underlying.NumFields() {
			field, tag := underlying.Field(i), underlying.Tag(i)
			if tag != "" {
				tag = " `" + tag + "`"
			}
			if field.Embedded() {
				tag += " (embedded)"
			}
			if field.Exported() {
				lines = append(lines, fmt.Sprintf("var %s.%s %s%s", name.Name(), field.Name(), types.TypeString(field.Type(), qualifier), tag))
			}
		}
	case *types.Interface:
		for method := range underlying.ExplicitMethods() {
			note(name.Name(), method)
		}
	}
	return lines
}

// describeType returns a type without its members, which have lines of their own.
func describeType(name *types.TypeName, qualifier types.Qualifier) string {
	if alias, ok := name.Type().(*types.Alias); ok {
		return fmt.Sprintf("type %s = %s", name.Name(), types.TypeString(alias.Rhs(), qualifier))
	}
	text := name.Name()
	if named, ok := name.Type().(*types.Named); ok && named.TypeParams().Len() > 0 {
		text = types.TypeString(named, qualifier)
	}
	switch underlying := name.Type().Underlying().(type) {
	case *types.Struct:
		return fmt.Sprintf("type %s struct", text)
	case *types.Interface:
		var embedded []string
		for other := range underlying.EmbeddedTypes() {
			embedded = append(embedded, types.TypeString(other, qualifier))
		}
		return fmt.Sprintf("type %s interface{%s}", text, strings.Join(embedded, "; "))
	default:
		return fmt.Sprintf("type %s %s", text, types.TypeString(underlying, qualifier))
	}
}
