// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package archtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const module = "github.com/component-operator/runtime"

// A layer of the picture on the architecture page: the packages below its paths, and the layers that its arrows point
// to.
type layer struct {
	paths, below []string
}

var (
	pictureOfLayers = regexp.MustCompile("(?s)```mermaid\nflowchart TD\n(.*?)```")
	box             = regexp.MustCompile(`(?m)^\s*(\w+)\["<b>[^<]*</b>[^<]*<br>(.*)"\]$`)
	arrow           = regexp.MustCompile(`(?m)^\s*(\w+) --> (\w+)$`)
)

// layersOf reads the picture of the architecture page.
func layersOf(page string) map[string]*layer {
	layers := map[string]*layer{}
	picture := pictureOfLayers.FindString(page)
	for _, found := range box.FindAllStringSubmatch(picture, -1) {
		layers[found[1]] = &layer{paths: strings.FieldsFunc(found[2], func(r rune) bool { return r == ',' || r == ' ' })}
	}
	for _, found := range arrow.FindAllStringSubmatch(picture, -1) {
		if from := layers[found[1]]; from != nil {
			from.below = append(from.below, found[2])
		}
	}
	return layers
}

// nameOf returns the name of the layer of a package: the one with the longest path that holds it.
func nameOf(layers map[string]*layer, pkg string) string {
	name, longest := "", ""
	for candidate, layer := range layers {
		for _, path := range layer.paths {
			if (pkg == path || strings.HasPrefix(pkg, path+"/")) && len(path) > len(longest) {
				name, longest = candidate, path
			}
		}
	}
	return name
}

// isBelow reports whether arrows lead from one layer to another.
func isBelow(layers map[string]*layer, from, to string) bool {
	return slices.ContainsFunc(layers[from].below, func(next string) bool { return next == to || isBelow(layers, next, to) })
}

// A pkg is a package of the module with its imports from the module, all as paths below the module.
type pkg struct {
	path string
	// imports are those of the package proper, testImports those of its test files.
	imports, testImports []string
}

// violations returns one sentence for each import that the picture does not allow. Tests may also import the test kits,
// and what test kits may import.
func violations(layers map[string]*layer, pkgs []pkg) []string {
	var found []string
	for _, p := range pkgs {
		from := nameOf(layers, p.path)
		if from == "" {
			found = append(found, p.path+" is on no layer")
			continue
		}
		for _, path := range p.imports {
			if to := nameOf(layers, path); to != from && !isBelow(layers, from, to) {
				found = append(found, fmt.Sprintf("%s (%s) must not import %s (%s)", p.path, from, path, to))
			}
		}
		for _, path := range p.testImports {
			if to := nameOf(layers, path); to == "programs" && from != "programs" && from != "kits" {
				found = append(found, fmt.Sprintf("tests of %s (%s) must not import %s (%s)", p.path, from, path, to))
			}
		}
	}
	return found
}

// TestLayers checks the imports of all packages against the picture.
func TestLayers(t *testing.T) {
	t.Parallel()
	layers := layersOf(read(t, filepath.Join(top, architecturePage)))
	if len(layers) < 4 {
		t.Fatalf("the picture of the layers has %d boxes; either its form has changed or the check does not understand it", len(layers))
	}
	pkgs := listPackages(t)
	for _, violation := range violations(layers, pkgs) {
		t.Error(violation)
	}
	for _, layer := range layers {
		for _, path := range layer.paths {
			if !slices.ContainsFunc(pkgs, func(p pkg) bool { return p.path == path || strings.HasPrefix(p.path, path+"/") }) {
				t.Errorf("the picture of the layers has %s, and there is no such package", path)
			}
		}
	}
}

func TestViolations(t *testing.T) {
	t.Parallel()
	layers := layersOf("```mermaid\nflowchart TD\n  programs[\"<b>P</b><br>clm, examples\"]\n  engine[\"<b>E</b><br>pkg/engine\"]\n  base[\"<b>B</b><br>internal, pkg/types\"]\n" +
		"  programs --> engine\n  engine --> base\n```")
	for _, tc := range []struct {
		reason string
		pkg    pkg
		want   []string
	}{
		{"down, over a layer", pkg{path: "clm/cmd", imports: []string{"pkg/engine/internal/run", "internal/x"}}, nil},
		{"up", pkg{path: "internal/x", imports: []string{"pkg/engine"}}, []string{"internal/x (base) must not import pkg/engine (engine)"}},
		{"in the layer", pkg{path: "internal/x", imports: []string{"pkg/types"}}, nil},
		{"unknown", pkg{path: "pkg/typesafe"}, []string{"pkg/typesafe is on no layer"}},
		{"up in a test", pkg{path: "internal/x", testImports: []string{"pkg/engine"}}, nil},
		{
			"a program in a test",
			pkg{path: "internal/x", testImports: []string{"clm/cmd"}},
			[]string{"tests of internal/x (base) must not import clm/cmd (programs)"},
		},
	} {
		if diff := cmp.Diff(tc.want, violations(layers, []pkg{tc.pkg})); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", tc.reason, diff)
		}
	}
}

// listPackages asks the go command for the packages of the module, test imports included.
func listPackages(t *testing.T) []pkg {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Imports,TestImports,XTestImports", module+"/...")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("running %s: %v\n%s", cmd, err, &stderr)
	}
	var pkgs []pkg
	for decoder := json.NewDecoder(strings.NewReader(string(out))); ; {
		var listed struct {
			ImportPath                         string
			Imports, TestImports, XTestImports []string
		}
		if err := decoder.Decode(&listed); errors.Is(err, io.EOF) {
			return pkgs
		} else if err != nil {
			t.Fatalf("reading the output of %s: %v", cmd, err)
		}
		pkgs = append(pkgs, pkg{
			path: strings.TrimPrefix(listed.ImportPath, module+"/"), imports: ownImports(listed.Imports),
			testImports: ownImports(slices.Concat(listed.TestImports, listed.XTestImports)),
		})
	}
}

// ownImports returns the imports from this module, as paths below it.
func ownImports(imports []string) []string {
	var own []string
	for _, path := range imports {
		if below, ok := strings.CutPrefix(path, module+"/"); ok {
			own = append(own, below)
		}
	}
	return own
}
