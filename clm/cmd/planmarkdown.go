// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/component-operator/runtime/clm/internal/display"
	"github.com/component-operator/runtime/clm/internal/operation"
	"github.com/component-operator/runtime/pkg/reconciler"
)

const (
	// markdownLimit is the number of characters of a plan in Markdown: a comment on GitHub has at most 65,536, and a
	// bot may want to add some.
	markdownLimit = 60000
	// markdownFrame is the number of characters within it for the headers of the table and the diff, and the line about
	// what is left out.
	markdownFrame = 1000
	// textLimit is the number of characters of a text within it that others decide about, such as a refusal of the API
	// server.
	textLimit = 2000
)

// markdownRow is an object in a plan in Markdown: its row of the table, and its diff.
type markdownRow struct {
	row, diff string
	// rank is lower for changes that a reviewer must not miss.
	rank int
}

// showInMarkdown writes a plan for a comment in a pull request: a heading, a line that sums up, a table, and the folded
// diff.
func (o planOptions) showInMarkdown(out io.Writer, p *operation.Plan) error {
	hunks, err := o.writer()
	if err != nil {
		return err
	}
	var rows []markdownRow
	var repeated []display.Change
	for _, change := range notable(p) {
		if listedAction(change) == display.ActionRepeat {
			repeated = append(repeated, shownChange(change, false, &display.Names{}))
			continue
		}
		row := markdownRow{row: rowOf(change), rank: markdownRank(change)}
		if o.diff.show {
			if row.diff, err = hunks.Text(wholeChange(change)); err != nil {
				return err
			}
		}
		rows = append(rows, row)
	}
	head := fmt.Sprintf("### Release %s, %s\n\n**%s**, from %s\n", cell(p.Release.String()), revisionText(p), o.summary(p), shortCell(sourceTexts(p.Revision.Sources)))
	tail := ""
	if text := display.Repetition(repeated); text != "" {
		tail = "\n" + shortCell(text) + "\n"
	}
	room := markdownLimit - markdownFrame - utf8.RuneCountInString(head+tail)
	table, diffs, left := fitting(rows, room)
	if left != "" {
		command := "clm plan"
		if o.diff.show {
			command = "clm diff"
		}
		tail += fmt.Sprintf("\nLeft out, because a comment cannot be longer: %s. To see everything, with the sources and flags of this plan: `%s %s SOURCE... -n %s`\n",
			left, command, p.Release.Name, p.Release.Namespace)
	}
	if table != "" {
		table = "\n| Object | Change | Why |\n|---|---|---|\n" + table
	}
	if diffs != "" {
		fence := fenceFor(diffs)
		tail += fmt.Sprintf("\n<details><summary>Diff</summary>\n\n%sdiff\n%s\n%s\n\n</details>\n", fence, strings.TrimRight(diffs, "\n"), fence)
	}
	_, err = io.WriteString(out, head+table+tail)
	return err
}

// fitting returns the rows and the diffs that have room, and says which do not. If not all do, rows go before diffs,
// and objects with a lower rank go first.
func fitting(rows []markdownRow, room int) (table, diffs, left string) {
	size := 0
	for _, row := range rows {
		size += utf8.RuneCountInString(row.row + row.diff)
	}
	if size > room {
		rows = slices.Clone(rows)
		slices.SortStableFunc(rows, func(a, b markdownRow) int { return cmp.Compare(a.rank, b.rank) })
	}
	take := func(text func(row markdownRow) string) (taken string, without int) {
		var b strings.Builder
		for _, row := range rows {
			if n := utf8.RuneCountInString(text(row)); n <= room {
				room -= n
				b.WriteString(text(row))
			} else {
				without++
			}
		}
		return b.String(), without
	}
	table, leftRows := take(func(row markdownRow) string { return row.row })
	diffs, leftDiffs := take(func(row markdownRow) string { return row.diff })
	var parts []string
	for what, count := range map[string]int{"row": leftRows, "diff": leftDiffs} {
		if count > 0 {
			parts = append(parts, display.Count(count, what))
		}
	}
	return table, diffs, strings.Join(slices.Sorted(slices.Values(parts)), " and ")
}

// rowOf returns the row of an object in the table.
func rowOf(change reconciler.Change) string {
	what, why := string(diffAction(change)), change.Reason
	if change.Refusal != "" {
		what, why = "**refused**", change.Refusal
	}
	if change.Local {
		what += ", local"
	}
	for _, note := range change.Notes {
		why = strings.TrimPrefix(why+"; "+note, "; ")
	}
	return fmt.Sprintf("| %s | %s | %s |\n", cell(change.Object.String()), what, shortCell(why))
}

// markdownRank returns the rank of the row of a change: what is refused comes first, then deletions, and objects that
// are recreated.
func markdownRank(change reconciler.Change) int {
	const ordinary = 3
	action := diffAction(change)
	switch {
	case change.Refusal != "":
		return 0
	case action == display.ActionDelete || action == display.ActionComplete:
		return 1
	case action == display.ActionRecreate:
		return 2
	default:
		return ordinary
	}
}

// shortCell is cell for a text that may be long.
func shortCell(text string) string {
	if runes := []rune(text); len(runes) > textLimit {
		text = string(runes[:textLimit]) + "…"
	}
	return cell(text)
}
