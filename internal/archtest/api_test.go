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
	for path, pkg := range publicPackages(t) {
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

// exportedObjects returns all that a package exports, and the exported methods and fields of its types as Type.Name.
func exportedObjects(pkg *types.Package) map[string]types.Object {
	found := map[string]types.Object{}
	for _, name := range pkg.Scope().Names() {
		object := pkg.Scope().Lookup(name)
		if !object.Exported() {
			continue
		}
		found[name] = object
		named, ok := object.Type().(*types.Named)
		if _, isType := object.(*types.TypeName); !isType || !ok {
			continue
		}
		for method := range named.Methods() {
			if method.Exported() {
				found[name+"."+method.Name()] = method
			}
		}
		switch underlying := named.Underlying().(type) {
		case *types.Struct:
			for field := range underlying.Fields() {
				if field.Exported() {
					found[name+"."+field.Name()] = field
				}
			}
		case *types.Interface:
			for method := range underlying.ExplicitMethods() {
				found[name+"."+method.Name()] = method
			}
		}
	}
	return found
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
	for name, object := range exportedObjects(pkg) {
		text := types.TypeString(object.Type(), qualifier)
		switch object := object.(type) {
		case *types.Const:
			text = fmt.Sprintf("const %s %s = %s", name, text, object.Val())
		case *types.TypeName:
			text = describeType(object, qualifier)
		case *types.Func:
			text = fmt.Sprintf("func %s%s", name, strings.TrimPrefix(text, "func"))
		default:
			text = fmt.Sprintf("var %s %s", name, text)
		}
		lines = append(lines, text)
	}
	slices.Sort(lines)
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
