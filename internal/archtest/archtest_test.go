// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package archtest

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const module = "github.com/component-operator/runtime"

func TestModuleKeepsTheRules(t *testing.T) {
	t.Parallel()
	pkgs := listPackages(t)
	if len(pkgs) == 0 {
		t.Fatal("go list found no package of the module")
	}
	for _, violation := range violations(pkgs) {
		t.Error(violation)
	}
	for _, room := range rooms {
		if !slices.ContainsFunc(pkgs, func(p pkg) bool { return room.holds(p.path) }) {
			t.Errorf("the table of rooms has %s, and there is no such package", room.path)
		}
	}
}

func TestViolations(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		pkg    pkg
		want   []string
	}{
		"Down": {
			reason: "imports of lower layers are what the layers are for",
			pkg:    pkg{path: "pkg/component", imports: []string{"pkg/reconciler", "internal/clients", "pkg/types"}},
		},
		"Up": {
			reason: "an import upwards would turn the house upside down",
			pkg:    pkg{path: "pkg/types", imports: []string{"pkg/reconciler"}},
			want:   []string{"pkg/types must not import pkg/reconciler: it is not strictly below"},
		},
		"Sideways": {
			reason: "rooms of one layer are independent of each other",
			pkg:    pkg{path: "pkg/reconciler", imports: []string{"pkg/manifests"}},
			want:   []string{"pkg/reconciler must not import pkg/manifests: it is not strictly below"},
		},
		"SidewaysInTest": {
			reason: "a test may put neighbours together",
			pkg:    pkg{path: "pkg/component", testImports: []string{"pkg/manifests/helm"}},
		},
		"UpInTest": {
			reason: "tests of a lower layer do not depend on an upper one either",
			pkg:    pkg{path: "pkg/reconciler", testImports: []string{"pkg/component"}},
			want:   []string{"tests of pkg/reconciler must not import pkg/component: it is above"},
		},
		"WithinARoom": {
			reason: "the parts of one program may import one another",
			pkg:    pkg{path: "clm", imports: []string{"clm/cmd", "clm/internal/printer"}},
		},
		"OwnRoomBelowAnother": {
			reason: "the longest path decides: generators are rooms of their own, above manifests",
			pkg:    pkg{path: "pkg/manifests", imports: []string{"pkg/manifests/helm"}},
			want:   []string{"pkg/manifests must not import pkg/manifests/helm: it is not strictly below"},
		},
		"Kit": {
			reason: "the test kit must not end up in anybody's program",
			pkg:    pkg{path: "examples/demo", imports: []string{"internal/testenv"}},
			want:   []string{"examples/demo must not import internal/testenv: it is not strictly below"},
		},
		"KitInTest": {
			reason: "every test may use the test kit",
			pkg:    pkg{path: "pkg/types", testImports: []string{"internal/testenv"}},
		},
		"ProgramInKit": {
			reason: "the test kit serves programs and does not know them",
			pkg:    pkg{path: "internal/testenv", imports: []string{"pkg/sandbox", "clm/cmd"}},
			want:   []string{"internal/testenv must not import clm/cmd: it is not strictly below"},
		},
		"Unknown": {
			reason: "a new package has to be given its place",
			pkg:    pkg{path: "internal/util", imports: []string{"pkg/types"}},
			want:   []string{"internal/util is missing from the table of rooms"},
		},
		"NoTree": {
			reason: "a room without the suffix /... does not cover what is below it",
			pkg:    pkg{path: "pkg/types/deep"},
			want:   []string{"pkg/types/deep is missing from the table of rooms"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tc.want, violations([]pkg{tc.pkg})); diff != "" {
				t.Errorf("%s: (-want +got)\n%s", tc.reason, diff)
			}
		})
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
	pkgs, err := decodePackages(strings.NewReader(string(out)))
	if err != nil {
		t.Fatalf("reading the output of %s: %v", cmd, err)
	}
	return pkgs
}

func decodePackages(r io.Reader) ([]pkg, error) {
	var pkgs []pkg
	for decoder := json.NewDecoder(r); ; {
		var listed struct {
			ImportPath                         string
			Imports, TestImports, XTestImports []string
		}
		if err := decoder.Decode(&listed); errors.Is(err, io.EOF) {
			return pkgs, nil
		} else if err != nil {
			return nil, err
		}
		pkgs = append(pkgs, pkg{
			path:        strings.TrimPrefix(listed.ImportPath, module+"/"),
			imports:     ownImports(listed.Imports),
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
