// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package generatortest

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// header is the first line of each golden file; other files in the folder do not have it.
const header = "# Golden file: go test -generatortest.update writes it.\n"

// render returns the text of a golden file.
func render(objects []*unstructured.Unstructured) string {
	text := strings.Builder{}
	text.WriteString(header)
	for _, object := range objects {
		document, err := yaml.Marshal(object.Object)
		if err != nil {
			// Normalised objects can be encoded, so this is for the eyes of a developer.
			document = []byte(err.Error() + "\n")
		}
		text.WriteString("---\n")
		text.Write(document)
	}
	return text.String()
}

func (s Suite) path(caseName string) string {
	return filepath.Join(s.Folder, caseName+".yaml")
}

// compare compares the text with the golden file, or writes it.
func (s Suite) compare(caseName string, text string, update bool) []string {
	path := s.path(caseName)
	if update {
		if err := write(path, text); err != nil {
			return []string{fmt.Sprintf("writing the golden file: %s", err)}
		}
		return nil
	}
	golden, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return []string{fmt.Sprintf("there is no golden file %s; -generatortest.update writes it", path)}
	}
	if err != nil {
		return []string{fmt.Sprintf("reading the golden file: %s", err)}
	}
	// A checkout on another operating system may have changed the ends of lines.
	if diff := diffLines(strings.ReplaceAll(string(golden), "\r\n", "\n"), text); diff != "" {
		return []string{fmt.Sprintf("the objects differ from %s (-golden +got); if this is intended, -generatortest.update writes it:\n%s", path, diff)}
	}
	return nil
}

func write(path string, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o644)
}

// diffLines is empty if both are the same.
func diffLines(want, got string) string {
	return cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n"))
}

// strays finds, or removes, golden files that belong to none of the cases.
func (s Suite) strays(cases []Case, update bool) []string {
	var known []string
	for _, c := range cases {
		if c.Err == "" {
			known = append(known, s.path(c.Name))
		}
	}
	paths, err := filepath.Glob(filepath.Join(s.Folder, "*.yaml"))
	if err != nil {
		return []string{fmt.Sprintf("listing golden files: %s", err)}
	}
	var problems []string
	for _, path := range paths {
		if slices.Contains(known, path) {
			continue
		}
		content, err := os.ReadFile(path)
		if err == nil && update && bytes.HasPrefix(content, []byte(header)) {
			err = os.Remove(path)
		} else if err == nil {
			err = errors.New("there is no case for it")
		}
		if err != nil {
			problems = append(problems, fmt.Sprintf("golden file %s: %s", path, err))
		}
	}
	return problems
}

// hidden is what golden files have instead of a random value.
const hidden = "(random)"

// hideRandom replaces values that differ between both results of a generator, in both. It leaves identities as they
// are: the name of a dependent must not be random. Keys of maps and the lengths of lists must be the same, too.
func hideRandom(first, second []*unstructured.Unstructured) {
	for i := range min(len(first), len(second)) {
		a, b := first[i], second[i]
		if a.GroupVersionKind() == b.GroupVersionKind() && a.GetNamespace() == b.GetNamespace() && a.GetName() == b.GetName() {
			hideIn(a.Object, b.Object)
		}
	}
}

// hideIn replaces values below both, which are maps or lists. Others are left alone.
func hideIn(a, b any) {
	switch a := a.(type) {
	case map[string]any:
		other, _ := b.(map[string]any)
		for key, value := range a {
			if found, exists := other[key]; exists && isRandom(value, found) {
				a[key], other[key] = hidden, hidden
			} else if exists {
				hideIn(value, found)
			}
		}
	case []any:
		other, _ := b.([]any)
		for i := range min(len(a), len(other)) {
			if isRandom(a[i], other[i]) {
				a[i], other[i] = hidden, hidden
			} else {
				hideIn(a[i], other[i])
			}
		}
	}
}

// isRandom reports whether two values are single ones, and differ.
func isRandom(a, b any) bool {
	return isSingle(a) && isSingle(b) && a != b
}

func isSingle(value any) bool {
	switch value.(type) {
	case map[string]any, []any:
		return false
	}
	return true
}
