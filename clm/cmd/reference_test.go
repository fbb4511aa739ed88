// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra/doc"
)

// referencePages is the folder of the pages of the website about commands.
const referencePages = "../../website/content/reference/clm"

// TestReferencePages compares the pages about commands with what the commands say of themselves. With -golden.update, it
// writes the pages. Other pages in the folder are those of commands that no longer exist.
func TestReferencePages(t *testing.T) {
	t.Parallel()
	written := t.TempDir()
	root := newCommand()
	root.DisableAutoGenTag = true
	const own, first = "clm.md", "_index.md"
	frontMatter := func(path string) string {
		command := strings.ReplaceAll(strings.TrimSuffix(filepath.Base(path), ".md"), "_", " ")
		return "---\ntitle: " + command + "\n---\n\n<!-- Written by \"make generate\". -->\n\n"
	}
	link := func(page string) string { return strings.Replace(page, own, first, 1) }
	if err := doc.GenMarkdownTreeCustom(root, written, frontMatter, link); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(written, own), filepath.Join(written, first)); err != nil {
		t.Fatal(err)
	}
	if *updateGolden {
		if err := os.RemoveAll(referencePages); err != nil {
			t.Fatal(err)
		}
		if err := os.CopyFS(referencePages, os.DirFS(written)); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(pagesIn(t, written), pagesIn(t, referencePages)); diff != "" {
		t.Errorf("the pages differ; make generate writes them (-command +page):\n%s", diff)
	}
}

// pagesIn returns the texts of the files in a folder by their names.
func pagesIn(t *testing.T, folder string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	pages := map[string]string{}
	for _, entry := range entries {
		content, err := os.ReadFile(filepath.Join(folder, entry.Name()))
		if err != nil {
			t.Fatal(err)
		}
		pages[entry.Name()] = string(content)
	}
	return pages
}
