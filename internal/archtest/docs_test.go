// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package archtest

import (
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/component-operator/runtime/pkg/component"
)

const top = "../.."

// TestAnnotationsAreDocumented checks that the reference names each annotation key that the vocabulary has.
func TestAnnotationsAreDocumented(t *testing.T) {
	t.Parallel()
	reference := read(t, filepath.Join(top, "website/content/reference/annotations.md"))
	keys := regexp.MustCompile(`const AnnotationKeySuffix\w+ .* = "(.*)"`).FindAllStringSubmatch(read(t, "testdata/api/pkg_types.txt"), -1)
	if len(keys) == 0 {
		t.Fatal("found no annotation keys")
	}
	for _, key := range keys {
		if !strings.Contains(reference, "`"+key[1]+"`") {
			t.Errorf("the reference of annotations does not mention %s", key[1])
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
		if target == "" || strings.Contains(target, "://") || strings.HasSuffix(target, ".svg") {
			continue // pictures are made when the website is built
		}
		folder := filepath.Dir(path)
		if filepath.Ext(target) == ".png" {
			folder = filepath.Join(top, "website/assets/img")
		}
		if _, err := os.Stat(filepath.Join(folder, target)); err != nil {
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
