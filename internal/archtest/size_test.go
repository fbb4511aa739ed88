// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package archtest

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// sizeFile has the size of the repository.
const sizeFile = ".size"

const sizeHead = `# Lines of Go without blank lines and comments, and packages; without examples, test data, and the packages of the kinds of
# pkg/resources. A commit that raises a number says why. "go test ./internal/archtest -run TestSize -update" writes this file.
`

// notKinds are the packages of pkg/resources that are not about one kind of object.
var notKinds = []string{"concepts", "editors", "feature", "generic", "selectors"}

// TestSize fails if the repository has become larger than its size file says.
func TestSize(t *testing.T) {
	t.Parallel()
	code, tests, packages := 0, 0, map[string]bool{}
	err := filepath.WalkDir(top, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if path != top && (strings.HasPrefix(entry.Name(), ".") || slices.Contains([]string{"testdata", "website", "bin", "examples"}, entry.Name())) {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") {
			return nil
		}
		lines, err := linesOfCode(path)
		if strings.HasSuffix(path, "_test.go") {
			tests += lines
			return err
		}
		code += lines
		folder, name := filepath.Split(filepath.Dir(path))
		if filepath.Base(folder) != "resources" || slices.Contains(notKinds, name) {
			packages[filepath.Dir(path)] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(top, sizeFile)
	if *update {
		text := fmt.Sprintf("%scode %d\ntests %d\npackages %d\n", sizeHead, code, tests, len(packages))
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	recorded, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var mostCode, mostTests, mostPackages int
	text := strings.TrimPrefix(string(recorded), sizeHead)
	if _, err := fmt.Sscanf(text, "code %d\ntests %d\npackages %d\n", &mostCode, &mostTests, &mostPackages); err != nil {
		t.Fatalf("%s: %v", sizeFile, err)
	}
	for _, size := range []struct {
		what      string
		got, most int
	}{{"lines of code", code, mostCode}, {"lines of tests", tests, mostTests}, {"packages", len(packages), mostPackages}} {
		if size.got > size.most {
			t.Errorf("the repository has %d %s; %s allows %d", size.got, size.what, sizeFile, size.most)
		}
	}
}

// linesOfCode counts the lines of a file that are neither blank nor comments.
func linesOfCode(path string) (int, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	count := 0
	for line := range bytes.Lines(content) {
		line = bytes.TrimSpace(line)
		if len(line) > 0 && !bytes.HasPrefix(line, []byte("//")) {
			count++
		}
	}
	return count, nil
}
