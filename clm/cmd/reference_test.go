// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

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
	// git diff compares folders as well as files.
	if diff, err := exec.Command("git", "diff", "--no-index", written, referencePages).CombinedOutput(); err != nil {
		t.Errorf("the pages differ; make generate writes them: %v\n%s", err, diff)
	}
}
