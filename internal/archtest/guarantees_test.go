// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package archtest

import (
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	// namedTest matches a test in a table of the page, by package and name.
	namedTest = regexp.MustCompile("`([a-z]+)\\.(Test[A-Za-z0-9]+)`")
	// definedTest matches the definition of a test.
	definedTest = regexp.MustCompile(`(?m)^func (Test[A-Za-z0-9]+)\(`)
	// packageClause matches the package of a file, without the suffix of external tests.
	packageClause = regexp.MustCompile(`(?m)^package ([a-z]+?)(?:_test)?$`)
)

// TestGuaranteesNameTheirTests checks that each promise of the page "What is guaranteed" names a test, and that these
// tests exist.
func TestGuaranteesNameTheirTests(t *testing.T) {
	t.Parallel()
	promises := read(t, filepath.Join(top, "website/content/reference/guarantees.md"))
	if !strings.Contains(promises, "\n## What is not promised\n") {
		t.Error("the page does not say what is not promised")
	}
	defined, rows := definedTests(t), 0
	for line := range strings.Lines(promises) {
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| Promise |") {
			continue
		}
		rows++
		named := namedTest.FindAllStringSubmatch(line, -1)
		if len(named) == 0 {
			t.Errorf("no test shows this promise: %s", line)
		}
		for _, match := range named {
			if name := match[1] + "." + match[2]; !defined[name] {
				t.Errorf("there is no test %s", name)
			}
		}
	}
	if rows == 0 {
		t.Error("the page makes no promise")
	}
}

// TestFeaturesNameTheirTests checks that each feature that the page "Features of clm" claims names a test,
// that these tests exist, and that each of the others has a reason.
func TestFeaturesNameTheirTests(t *testing.T) {
	t.Parallel()
	const features = 54
	defined, rows := definedTests(t), 0
	for line := range strings.Lines(read(t, filepath.Join(top, "website/content/reference/features.md"))) {
		cells := strings.Split(strings.TrimSpace(line), " | ")
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| Feature |") {
			continue
		}
		rows++
		named := namedTest.FindAllStringSubmatch(line, -1)
		hasReason := len(cells) > 1 && (strings.HasPrefix(cells[1], "no: ") || strings.HasPrefix(cells[1], "no flags: "))
		if len(named) == 0 && !hasReason {
			t.Errorf("no test shows this feature, and no reason says why there is none: %s", line)
		}
		for _, match := range named {
			if name := match[1] + "." + match[2]; !defined[name] {
				t.Errorf("there is no test %s", name)
			}
		}
	}
	if rows != features {
		t.Errorf("want the %d features of other tools, got %d", features, rows)
	}
}

// definedTests returns all tests of the repository by package and name. Programs have the name of their folder.
func definedTests(t *testing.T) map[string]bool {
	t.Helper()
	defined := map[string]bool{}
	err := filepath.WalkDir(top, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		content := read(t, path)
		clause := packageClause.FindStringSubmatch(content)
		if clause == nil {
			t.Errorf("%s: no package clause", path)
			return nil
		}
		name := clause[1]
		if name == "main" {
			name = filepath.Base(filepath.Dir(path))
		}
		for _, match := range definedTest.FindAllStringSubmatch(content, -1) {
			defined[name+"."+match[1]] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return defined
}

// TestSupportedVersions checks that the page "Support and compatibility" has the versions of go.mod and of the sandbox.
func TestSupportedVersions(t *testing.T) {
	t.Parallel()
	page, mod := read(t, filepath.Join(top, "website/content/reference/support.md")), read(t, filepath.Join(top, "go.mod"))
	for _, version := range []struct{ said, in, pattern string }{
		{"Kubernetes %s, the version of", read(t, filepath.Join(top, "pkg/sandbox/sandbox.go")), `const Version = "v(1\.\d+)`},
		{"| %s, with controller-runtime", mod, `k8s\.io/client-go v(0\.\d+)`},
		{"with controller-runtime %s.", mod, `sigs\.k8s\.io/controller-runtime v(0\.\d+)`},
		{"| Go | %s or newer", mod, `\ngo (1\.\d+)`},
	} {
		found := regexp.MustCompile(version.pattern).FindStringSubmatch(version.in)
		if found == nil || !strings.Contains(page, strings.ReplaceAll(version.said, "%s", found[1])) {
			t.Errorf("the page lacks %q with the version %q", version.said, found)
		}
	}
}
