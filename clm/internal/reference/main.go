// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/component-operator/runtime/clm/cmd"
)

// rootPage is the page about clm itself, by which the website finds the others.
const rootPage = "_index.md"

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: reference FOLDER")
		os.Exit(1)
	}
	if err := write(cmd.Command(), os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "reference:", err)
		os.Exit(1)
	}
}

// write writes the pages into a folder. Other pages in it are those of commands that no longer exist.
func write(root *cobra.Command, folder string) error {
	if err := os.RemoveAll(folder); err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil { //nolint:gosec // everybody may read it
		return err
	}
	root.DisableAutoGenTag = true
	link := func(page string) string { return strings.Replace(page, root.Name()+".md", rootPage, 1) }
	if err := doc.GenMarkdownTreeCustom(root, folder, frontMatter, link); err != nil {
		return err
	}
	return os.Rename(filepath.Join(folder, root.Name()+".md"), filepath.Join(folder, rootPage))
}

func frontMatter(path string) string {
	command := strings.ReplaceAll(strings.TrimSuffix(filepath.Base(path), ".md"), "_", " ")
	return "---\ntitle: " + command + "\n---\n\n<!-- Written by \"make generate\". -->\n\n"
}
