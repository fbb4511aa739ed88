// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// module is a small module with one test.
var module = map[string]string{
	"go.mod": "module example.com/small\n\ngo 1.26\n",
	"small.go": `package small

// Smaller returns the smaller one.
func Smaller(a, b int) int {
	if a < b {
		return a
	}
	return b
}

// Unused has no test.
func Unused() int { return 1 }

type number[T any] struct{ value T }

func (n *number[T]) twice() int { return 2 }
`,
	"small_test.go": `package small

import "testing"

func TestSmaller(t *testing.T) {
	if Smaller(1, 2) != 1 {
		t.Error("wrong")
	}
}

func TestBroken(t *testing.T) { t.Error("always") }
`,
	"other/other_test.go": "package other\n\nimport \"testing\"\n\nfunc TestBroken(t *testing.T) { t.Error(\"always\") }\n",
}

const mutants = `
- {name: noticed, package: ., function: Smaller, replace: 'a < (b)', by: a > $1, tests: TestSmaller}
- {name: survived, package: ., function: Unused, replace: return 1, by: return 2, tests: TestSmaller}
- {name: uncompiled, package: ., function: number.twice, replace: return 2, by: return x, tests: TestSmaller}
- {name: missing, package: ., function: Smaller, replace: a <= b, tests: TestSmaller}
- {name: ambiguous, package: ., function: Smaller, replace: return, tests: TestSmaller}
- {name: gone, package: ., function: number.Smaller, replace: return, tests: TestSmaller}
- {name: untested, package: ., function: Smaller, replace: a < b, by: a > b, tests: TestOther}
- {name: failing, package: ., function: Smaller, replace: a < b, by: a > b, tests: TestBroken, testPackage: other}
`

// inModule makes the current folder a module with a list of mutants.
func inModule(t *testing.T, list string) {
	t.Helper()
	t.Chdir(t.TempDir())
	files := map[string]string{"internal/mutants/mutants.yaml": list}
	maps.Copy(files, module)
	for name, content := range files {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// invoke returns the exit code, and the lines before the score without times.
func invoke(t *testing.T, args ...string) (code int, table []string, output string) {
	t.Helper()
	var out strings.Builder
	code, err := run(t.Context(), args, &out)
	if err != nil {
		t.Fatal(err)
	}
	rows, _, _ := strings.Cut(out.String(), "\n\n")
	seconds := regexp.MustCompile(` +[0-9.]+s`)
	for line := range strings.Lines(rows) {
		table = append(table, strings.Join(strings.Fields(seconds.ReplaceAllString(line, " ")), " "))
	}
	return code, table, out.String()
}

func TestRun(t *testing.T) {
	inModule(t, mutants)
	code, table, output := invoke(t)
	want := []string{
		"noticed noticed TestSmaller",
		"SURVIVED survived",
		"DOES NOT COMPILE uncompiled small.go:16:42: undefined: x",
		"DOES NOT FIT missing replace matches 0 times in Smaller of small.go; must match once",
		"DOES NOT FIT ambiguous replace matches 2 times in Smaller of small.go; must match once",
		"DOES NOT FIT gone . has no function number.Smaller",
		"NO SUCH TEST untested",
		"FAILS ANYWAY failing these tests also fail without the change",
	}
	if diff := cmp.Diff(want, table); diff != "" {
		t.Errorf("verdicts (-want +got):\n%s", diff)
	}
	score := "1 of 8 noticed (12.5 %; demanded are 95 %)\nNot noticed: survived, uncompiled, missing, "
	if code != 1 || !strings.Contains(output, score) {
		t.Errorf("got exit code %d and\n%s", code, output)
	}
	if content, err := os.ReadFile("small.go"); err != nil || string(content) != module["small.go"] {
		t.Errorf("the file is expected to be untouched, got %v and\n%s", err, content)
	}
}

// TestListFitsTheCode finds mutants that cannot be made any more, because the code has changed.
func TestListFitsTheCode(t *testing.T) {
	t.Chdir("../..")
	all, err := read("")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range all {
		if _, _, err := m.apply(); err != nil {
			t.Errorf("%s: %s", m.Name, err)
		}
	}
}
