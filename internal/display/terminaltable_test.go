// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package display_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/component-operator/runtime/internal/display"
)

// newRelease returns a table such as that of clm ls.
func newRelease(limit int, message string) *display.Table {
	table := display.NewTable(limit,
		display.Column{Header: "NAME", Fit: display.Middle}, display.Column{Header: "OBJECTS", Right: true, Spare: true}, display.Column{Header: "STATE"},
		display.Column{Header: "SOURCE", Fit: display.Middle, Spare: true}, display.Column{Header: "MESSAGE", Fit: display.End})
	table.Add(display.Cell{Lead: "├─ ", Text: "frontend-of-the-shop"}, display.Cell{Text: "7"}, display.Cell{Text: "Ready", Paint: func(text string) string { return "<" + text + ">" }},
		display.Cell{Text: "oci://example.com/frontend"}, display.Cell{Text: message})
	table.AddBelow(display.Cell{Lead: "│  ", Text: "because the database of the shop does not answer"})
	table.AddTexts("web")
	return table
}

func TestTable(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		reason, message string
		limit           int
		want            string
	}{
		{"without a limit everything is whole", "映像を取得できません", 0, `
NAME                     OBJECTS  STATE  SOURCE                      MESSAGE
├─ frontend-of-the-shop        7  <Ready>  oci://example.com/frontend  映像を取得できません
│  because the database of the shop does not answer
web
`},
		{"a column that needs little leaves the rest to the others", "timed out", 70, `
NAME                  OBJECTS  STATE  SOURCE                 MESSAGE
├─ frontend…the-shop        7  <Ready>  oci://exam…m/frontend  timed out
│  because the database of the shop does not answer
web
`},
		{"the last spare column is left out so that the others are of use", "映像を取得できません", 50, `
NAME              OBJECTS  STATE  MESSAGE
├─ fronte…e-shop        7  <Ready>  映像を取得でき…
│  because the database of the shop does not
│    answer
web
`},
		{"all of them are, if need be", "timed out after 4s", 35, `
NAME           STATE  MESSAGE
├─ front…shop  <Ready>  timed out af…
│  because the database of the
│    shop does not answer
web
`},
		{"a table that is too narrow is readable nevertheless", "timed out", 20, `
NAME        STATE  MESSAGE
├─ fro…hop  <Ready>  timed out
│  because the
│    database of the
│    shop does not
│    answer
web
`},
	} {
		var out bytes.Buffer
		if err := newRelease(test.limit, test.message).Write(&out); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(strings.TrimPrefix(test.want, "\n"), out.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.reason, diff)
		}
	}
	events := func(limit int) string {
		table := display.NewTable(limit, display.Column{Header: "NAME", Fit: display.Middle}, display.Column{Header: "COUNT"}, display.Column{Header: "MESSAGE", Fit: display.Below})
		table.AddTexts("frontend", "7", "timed out after 4s")
		table.AddTexts("web", "1")
		return strings.Join(table.Lines(), "\n")
	}
	for limit, want := range map[int]string{
		0:  "NAME      COUNT  MESSAGE\nfrontend  7      timed out after 4s\nweb       1",
		35: "NAME      COUNT  MESSAGE\nfrontend  7      timed out after 4s\nweb       1",
		34: "NAME      COUNT\nfrontend  7\n    timed out after 4s\nweb       1",
	} {
		if diff := cmp.Diff(want, events(limit)); diff != "" {
			t.Errorf("messages stand below the rows if they do not fit in %d cells (-want +got):\n%s", limit, diff)
		}
	}
	if lines := display.NewTable(80, display.Column{}, display.Column{Fit: display.End}).Lines(); len(lines) != 0 {
		t.Errorf("want no lines without titles and rows, got %q", lines)
	}
}

// TestTableOfOthers has texts that are no names.
func TestTableOfOthers(t *testing.T) {
	t.Parallel()
	table := display.NewTable(0, display.Column{Header: "NAME"}, display.Column{Header: "STATE"})
	table.AddTexts("\x1b[2J\u202eweb", "\nREADY\r\x9b")
	table.AddBelow(display.Cell{Lead: "  ", Text: "because\nshop  Ready"})
	want := []string{"NAME              STATE", `\x1b[2J\u202eweb  READY \x9b`, "  because shop  Ready"}
	if diff := cmp.Diff(want, table.Lines()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
