// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
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
	"other/other.go":      "package other\n\n// Two is two.\nconst Two = 2\n",
	"other/other_test.go": "package other\n\nimport \"testing\"\n\nfunc TestBroken(t *testing.T) { t.Error(\"always\") }\n",
}

const mutants = `
- {name: noticed, file: small.go, old: a < b, new: a > b, run: TestSmaller}
- {name: survived, file: small.go, old: return 1, new: return 2, run: TestSmaller, why: nobody cares}
- {name: uncompiled, file: small.go, old: return 1, new: return x, run: TestSmaller}
- {name: missing, file: small.go, old: a <= b, new: a > b, run: TestSmaller}
- {name: ambiguous, file: small.go, old: return, run: TestSmaller}
- {name: untested, file: small.go, old: a < b, new: a > b, run: TestOther}
- {name: failing, file: other/other.go, old: Two = 2, new: Two = 3, run: TestBroken}
`

// inModule makes the current folder a module with a list of mutants.
func inModule(t *testing.T, list string) {
	t.Helper()
	t.Chdir(t.TempDir())
	files := map[string]string{"mutants.yaml": list}
	for name, content := range module {
		files[name] = content
	}
	for name, content := range files {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// invoke returns the exit code, and the verdict and the name of each line up to the score.
func invoke(t *testing.T, args ...string) (code int, table []string, output string) {
	t.Helper()
	var out strings.Builder
	code, err := run(t.Context(), append([]string{"-file", "mutants.yaml"}, args...), &out)
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
		"noticed noticed small.go TestSmaller",
		"SURVIVED survived small.go nobody cares",
		"DOES NOT COMPILE uncompiled small.go small.go:12:28: undefined: x",
		"TEXT NOT FOUND missing small.go small.go contains the text 0 times; must contain it exactly once",
		"TEXT NOT FOUND ambiguous small.go small.go contains the text 4 times; must contain it exactly once",
		"NO SUCH TEST untested small.go",
		"FAILS ANYWAY failing other/other.go these tests also fail without the change",
	}
	if diff := cmp.Diff(want, table); diff != "" {
		t.Errorf("verdicts (-want +got):\n%s", diff)
	}
	if code != 1 || !strings.Contains(output, "1 of 7 noticed (14.3 %; demanded are 95 %)") {
		t.Errorf("got exit code %d and\n%s", code, output)
	}
	if content, err := os.ReadFile("small.go"); err != nil || string(content) != module["small.go"] {
		t.Errorf("the file is expected to be untouched, got %v and\n%s", err, content)
	}
}

func TestChoice(t *testing.T) {
	inModule(t, mutants)
	for _, test := range []struct {
		reason string
		args   []string
		code   int
		want   []string
	}{
		{"all that is chosen is noticed", []string{"-run", "^noticed$"}, 0, []string{"noticed noticed small.go TestSmaller"}},
		{"less is enough", []string{"-run", "survived", "-least", "0"}, 0, []string{"SURVIVED survived small.go nobody cares"}},
		{"by file; nothing is run", []string{"-package", "other/", "-list"}, 0, []string{"fits failing other/other.go TestBroken"}},
		{"a text that is not there", []string{"-run", "missing", "-list"}, 1, []string{"TEXT NOT FOUND missing small.go contains the text 0 times; must contain it exactly once"}},
	} {
		code, table, _ := invoke(t, test.args...)
		if diff := cmp.Diff(test.want, table); diff != "" || code != test.code {
			t.Errorf("%s: exit code %d (-want +got):\n%s", test.reason, code, diff)
		}
	}
	if _, err := run(t.Context(), []string{"-file", "mutants.yaml", "-run", "nothing"}, &strings.Builder{}); err == nil {
		t.Error("expected an error, since nothing is chosen")
	}
}

func TestRead(t *testing.T) {
	for reason, test := range map[string]struct{ list, want string }{
		"a field is misspelt":     {"[{name: a, file: b, old: c, runs: d}]", `unknown field "runs"`},
		"something is missing":    {"[{name: a, file: b, run: d}]", "name, file, old and run are required"},
		"a name occurs twice":     {"[{name: a, file: b, old: c, run: d}, {name: a, file: b, old: d, run: d}]", `another one named "a"`},
		"a change without change": {"[{name: a, file: b, old: c, new: c, run: d}]", "old and new are the same"},
	} {
		t.Run(reason, func(t *testing.T) {
			inModule(t, test.list)
			if _, err := read("mutants.yaml"); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("want %q, got %v", test.want, err)
			}
		})
	}
}

// TestListFitsTheCode finds mutants that nobody could make any more, because the code has changed.
func TestListFitsTheCode(t *testing.T) {
	t.Chdir("../..")
	all, err := read("internal/mutants/mutants.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range all {
		if _, err := m.apply(); err != nil {
			t.Errorf("%s: %s", m.Name, err)
		}
	}
}
