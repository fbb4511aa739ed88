// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/component-operator/runtime/scaffold/internal/project"
)

// showTree draws the files of a project.
func showTree(out io.Writer, folder string, tree project.Tree) {
	fmt.Fprintln(out, folder)
	children := map[string][]string{}
	for _, file := range tree.Paths() {
		for child := file; child != "."; child = path.Dir(child) {
			if parent := path.Dir(child); !slices.Contains(children[parent], child) {
				children[parent] = append(children[parent], child)
			}
		}
	}
	draw(out, children, ".", "")
	folders := slices.Collect(maps.Keys(children))
	fmt.Fprintf(out, "\n%d folders, %d files\n", len(folders)-1, len(tree))
}

func draw(out io.Writer, children map[string][]string, folder, indent string) {
	for i, child := range children[folder] {
		branch, next := "├── ", "│   "
		if i == len(children[folder])-1 {
			branch, next = "└── ", "    "
		}
		fmt.Fprintln(out, indent+branch+strings.TrimPrefix(child, folder+"/"))
		draw(out, children, child, indent+next)
	}
}
