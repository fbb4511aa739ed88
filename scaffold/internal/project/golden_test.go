// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package project

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

var update = flag.Bool("update", false, "write the golden trees")

// copied are files with the content of other files.
var copied = []string{"LICENSE", "tools/go.mod", "tools/go.sum", filesRecord}

// TestGoldenTrees compares the files of each variant with testdata. To keep this readable, all variants but the first
// show only what differs from it.
func TestGoldenTrees(t *testing.T) {
	t.Parallel()
	base := render(t, variants["go-both"])
	for name, v := range variants {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			golden := archive(base, render(t, v), name == "go-both")
			path := filepath.Join("testdata", name+".txtar")
			if *update {
				if err := os.WriteFile(path, golden, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(golden)); diff != "" {
				t.Errorf("the tree has changed; run with -update and review the diff:\n%s", diff)
			}
		})
	}
}

func render(t *testing.T, v variant) Tree {
	t.Helper()
	return renderWith(t, v.options(t))
}

func renderWith(t *testing.T, options *Options) Tree {
	t.Helper()
	contents, err := LoadContents(t.Context(), options, "")
	if err != nil {
		t.Fatal(err)
	}
	tree, err := Render(options, contents)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// archive lists all paths, followed by the contents of those files that the base has not, or has otherwise.
func archive(base, tree Tree, whole bool) []byte {
	golden := &txtar.Archive{}
	for _, path := range tree.Paths() {
		line := path
		if modeOf(tree[path]) == 0o755 {
			line += " (executable)"
		}
		golden.Comment = append(golden.Comment, line+"\n"...)
		if same := bytes.Equal(tree[path], base[path]); !slices.Contains(copied, path) && (whole || !same) {
			golden.Files = append(golden.Files, txtar.File{Name: path, Data: tree[path]})
		}
	}
	return txtar.Format(golden)
}
