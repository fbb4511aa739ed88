// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package resources_test

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/component-operator/runtime/pkg/resources/concepts"
)

var update = flag.Bool("update", false, "write snippets and tables into the page")

const docsPage = "../../website/content/concepts/typed-resources.md"

var (
	// part matches what the page takes from here: a comment with a name, and the block of Go or the table that follows.
	part = regexp.MustCompile("(?s)<!-- (snippet|table) ([a-z-]+) -->\n(?:```go\n.*?```\n|(?:\\|[^\n]*\n)*)")
	// mark matches the comment at which a region of a file begins or ends.
	mark = regexp.MustCompile(`^(\t*)// \[([a-z-]+)\]$`)
)

// docsTables are the tables of the page that are computed.
var docsTables = map[string]func(tb testing.TB) string{"kinds": kindsTable, "statuses": statusesTable, "handlers": handlersTable, "lines": linesTable}

// TestPageShowsWhatIsCompiled: each snippet of the page is a region of an example, and its tables are what the code says. With -update, the page is written.
func TestPageShowsWhatIsCompiled(t *testing.T) {
	t.Parallel()
	page, snippets, seen := readFile(t, docsPage), regions(t), map[string]int{}
	wanted := part.ReplaceAllStringFunc(page, func(text string) string {
		found := part.FindStringSubmatch(text)
		seen[found[2]]++
		comment := fmt.Sprintf("<!-- %s %s -->\n", found[1], found[2])
		if table, ok := docsTables[found[2]]; ok && found[1] == "table" {
			return comment + table(t)
		}
		snippet, ok := snippets[found[2]]
		if !ok || found[1] != "snippet" {
			t.Errorf("the page has the %s %q, which nothing here has", found[1], found[2])
		}
		return comment + "```go\n" + snippet + "```\n"
	})
	for name := range snippets {
		if name != "by-hand" && seen[name] != 1 {
			t.Errorf("the page shows the snippet %q %d times", name, seen[name])
		}
	}
	if blocks, names := strings.Count(wanted, "```go\n"), strings.Count(wanted, "<!-- snippet "); blocks != names {
		t.Errorf("the page has %d blocks of Go, and names for %d", blocks, names)
	}
	if *update {
		if err := os.WriteFile(docsPage, []byte(wanted), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := gocmp.Diff(strings.Split(wanted, "\n"), strings.Split(page, "\n")); diff != "" {
		t.Errorf("the page is not what is compiled; run this test with -update (-wanted +page):\n%s", diff)
	}
}

// TestPageNamesAllStatuses: a status that is added has to be explained.
func TestPageNamesAllStatuses(t *testing.T) {
	t.Parallel()
	page := readFile(t, docsPage)
	for _, status := range []any{
		concepts.AliveConvergingStatusHealthy, concepts.AliveConvergingStatusCreating, concepts.AliveConvergingStatusUpdating, concepts.AliveConvergingStatusScaling,
		concepts.AliveConvergingStatusFailing, concepts.CompletionStatusCompleted, concepts.CompletionStatusRunning, concepts.CompletionStatusPending, concepts.CompletionStatusFailing,
		concepts.OperationalStatusOperational, concepts.OperationalStatusPending, concepts.OperationalStatusFailing, concepts.GraceStatusDegraded, concepts.GraceStatusDown,
		concepts.SuspensionStatusPending, concepts.SuspensionStatusSuspending, concepts.SuspensionStatusSuspended, concepts.GuardStatusBlocked, concepts.GuardStatusUnblocked,
	} {
		if !strings.Contains(page, fmt.Sprintf("`%v`", status)) {
			t.Errorf("the page does not name %v", status)
		}
	}
}

// regions returns the regions of the examples by their names. A region begins with a comment such as
//
//	// [name]
//
// and ends with "// [end]", or with the function that it is in. It is as little indented as can be.
func regions(tb testing.TB) map[string]string {
	tb.Helper()
	files, err := filepath.Glob("example_*_test.go")
	if err != nil {
		tb.Fatal(err)
	}
	found := map[string]string{}
	for _, file := range files {
		var open []region
		closeLast := func() {
			last := open[len(open)-1]
			open = open[:len(open)-1]
			if _, ok := found[last.name]; ok {
				tb.Errorf("%s: there is another snippet %q", file, last.name)
			}
			found[last.name] = strings.Trim(last.text.String(), "\n") + "\n"
		}
		for line := range strings.Lines(readFile(tb, file)) {
			if m := mark.FindStringSubmatch(strings.TrimSuffix(line, "\n")); m != nil {
				if m[2] == "end" {
					closeLast()
				} else {
					open = append(open, region{name: m[2], indent: m[1], text: &strings.Builder{}})
				}
				continue
			}
			for len(open) > 0 && strings.TrimSpace(line) != "" && !strings.HasPrefix(line, open[len(open)-1].indent) {
				closeLast()
			}
			for _, r := range open {
				r.text.WriteString(cmp.Or(strings.TrimPrefix(line, r.indent), "\n"))
			}
		}
		if len(open) > 0 {
			tb.Errorf("%s: the snippet %q does not end", file, open[0].name)
		}
	}
	return found
}

type region struct {
	name, indent string
	text         *strings.Builder
}

func readFile(tb testing.TB, path string) string {
	tb.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	return string(content)
}

// markdown formats a table.
func markdown(rows ...[]string) string {
	var text strings.Builder
	for i, row := range rows {
		text.WriteString("| " + strings.Join(row, " | ") + " |\n")
		if i == 0 {
			text.WriteString(strings.Repeat("|---", len(row)) + "|\n")
		}
	}
	return text.String()
}

// linesTable compares the code of the bookshop operator with the same by hand.
func linesTable(tb testing.TB) string {
	tb.Helper()
	_, typed, found := strings.Cut(readFile(tb, "../../examples/bookshop-operator/resources.go"), "\n)\n")
	_, setup, foundSetup := strings.Cut(readFile(tb, "../../examples/bookshop-operator/main.go"), "\nfunc setup(")
	setup, _, foundEnd := strings.Cut(setup, "\n}\n")
	if !found || !foundSetup || !foundEnd {
		tb.Fatal("the bookshop operator has another form than expected")
	}
	return markdown(
		[]string{"", "Lines of code"},
		[]string{"typed resources", fmt.Sprint(codeLines(typed) + codeLines("func setup("+setup+"\n}\n"))},
		[]string{"by hand", fmt.Sprint(codeLines(regions(tb)["by-hand"]))},
	)
}

// codeLines counts the lines that are neither empty nor comments.
func codeLines(text string) int {
	count := 0
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "//") {
			count++
		}
	}
	return count
}
