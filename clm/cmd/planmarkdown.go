// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/component-operator/runtime/clm/internal/dependents"
	"github.com/component-operator/runtime/clm/internal/diff"
	"github.com/component-operator/runtime/clm/internal/operation"
	"github.com/component-operator/runtime/pkg/reconciler"
)

const (
	// markdownLimit is the number of characters of a plan in Markdown: a comment on GitHub has at most 65,536, and a bot may want to add some.
	markdownLimit = 60000
	// textLimit is the number of characters of a text within it that others decide about, such as a refusal of the API server, and of the names in a row.
	textLimit = 2000
	// alike is the number of objects with the same change from which on they share one row, if they are updated in place.
	alike = 11
)

// markdownPlan is a plan as Markdown: a heading, a line that sums up, a table, and the diff, which is folded.
type markdownPlan struct {
	// head comes first, repetition after the table.
	head, repetition string
	rows             []*markdownRow
	// command is the one that shows everything.
	command string
	// diff adds the diff.
	diff bool
}

// markdownRow is a row of the table: of one object, or of several that are updated in the same way.
type markdownRow struct {
	objects   []reconciler.ObjectInfo
	what, why string
	refused   bool
	// lines are those that change, with the places where they do; none if the content of the object is not known.
	lines []string
	// change and text are that of the first object.
	change diff.Change
	text   string
}

// showInMarkdown writes a plan for a comment in a pull request.
func (o planOptions) showInMarkdown(out io.Writer, p *operation.Plan) error {
	m := &markdownPlan{diff: o.diff.show, command: "clm plan"}
	if m.diff {
		m.command = "clm diff"
	}
	m.command += fmt.Sprintf(" %s SOURCE... -n %s", p.Release.Name, p.Release.Namespace)
	m.head = fmt.Sprintf("### Release %s, %s\n\n**%s**, from %s\n", cell(p.Release.String()), revisionText(p), o.summary(p), shortCell(sourceTexts(p.Revision.Sources)))
	hunks, err := o.writer()
	if err != nil {
		return err
	}
	var repeated []diff.Change
	similar := map[string][]*markdownRow{}
	for _, change := range notable(p) {
		if listedAction(change) == diff.ActionRepeat {
			repeated = append(repeated, shownChange(change, false, &dependents.Names{}))
			continue
		}
		row := rowOf(change)
		if row.text, err = hunks.Text(row.change); err != nil {
			return err
		}
		row.lines = changedLines(row.text)
		m.rows = append(m.rows, row)
		if key := row.key(change); key != "" {
			similar[key] = append(similar[key], row)
		}
	}
	if err := m.join(similar, hunks); err != nil {
		return err
	}
	if text := diff.Repetition(repeated); text != "" {
		m.repetition = "\n" + shortCell(text) + "\n"
	}
	_, err = io.WriteString(out, m.fitting())
	return err
}

func rowOf(change reconciler.Change) *markdownRow {
	row := &markdownRow{objects: []reconciler.ObjectInfo{change.Object}, what: string(diffAction(change)), why: change.Reason, change: wholeChange(change)}
	if change.Refusal != "" {
		row.what, row.why, row.refused = "**refused**", change.Refusal, true
	}
	if change.Local {
		row.what += ", local"
	}
	for _, note := range change.Notes {
		row.why = strings.TrimPrefix(row.why+"; "+note, "; ")
	}
	return row
}

// changedLines returns the lines of a diff that change something, and those that name places, without the headline.
func changedLines(text string) []string {
	_, text, _ = strings.Cut(text, "\n")
	return slices.DeleteFunc(strings.Split(text, "\n"), func(line string) bool {
		return !strings.HasPrefix(line, "+") && !strings.HasPrefix(line, "-") && !strings.HasPrefix(line, "@@ ")
	})
}

// key is the same for objects with the same change; empty if the object has a row of its own. What is not updated in place always has: a reviewer has to see its name.
func (r *markdownRow) key(change reconciler.Change) string {
	inPlace := r.change.Action == diff.ActionUpdate || r.change.Action == diff.ActionCorrect
	if !inPlace || change.Refusal != "" || len(change.Notes) > 0 || len(r.lines) == 0 {
		return ""
	}
	return strings.Join(append([]string{r.what, r.why}, r.lines...), "\n")
}

// join makes one row of objects with the same change if there are many of them, in the place of the first one.
func (m *markdownPlan) join(similar map[string][]*markdownRow, hunks *diff.Writer) error {
	joined := map[*markdownRow]bool{}
	for _, rows := range similar {
		if len(rows) < alike {
			continue
		}
		first := rows[0]
		for _, row := range rows[1:] {
			first.objects, joined[row] = append(first.objects, row.objects...), true
		}
		first.change.Object = fmt.Sprintf("%d objects with the same change, for example %s", len(rows), first.change.Object)
		first.why = fmt.Sprintf("%s: %s", first.why, strings.Join(places(first.lines), ", "))
		var err error
		if first.text, err = hunks.Text(first.change); err != nil {
			return err
		}
	}
	m.rows = slices.DeleteFunc(m.rows, func(row *markdownRow) bool { return joined[row] })
	return nil
}

// places are the fields around what changes.
func places(lines []string) []string {
	var places []string
	for _, line := range lines {
		if place, isPlace := strings.CutPrefix(line, "@@ "); isPlace {
			places = append(places, strings.TrimSuffix(place, " @@"))
		}
	}
	return slices.Compact(slices.Sorted(slices.Values(places)))
}

// line is the row in Markdown. If it does not name all of its objects, it names the command that does.
func (r *markdownRow) line(command string) string {
	object := cell(r.objects[0].String())
	if len(r.objects) > 1 {
		object = fmt.Sprintf("<details><summary>%d objects: %s</summary>%s</details>", len(r.objects), r.kinds(), r.names(command))
	}
	return fmt.Sprintf("| %s | %s | %s |\n", object, r.what, shortCell(r.why))
}

// kinds counts the objects of each kind.
func (r *markdownRow) kinds() string {
	counts := map[string]int{}
	for _, each := range r.objects {
		counts[each.Kind]++
	}
	var kinds []string
	for _, kind := range slices.Sorted(maps.Keys(counts)) {
		kinds = append(kinds, fmt.Sprintf("%d %s", counts[kind], kind))
	}
	return shortCell(strings.Join(kinds, ", "))
}

// names are those of the objects, or of the first ones, with the command that shows the others.
func (r *markdownRow) names(command string) string {
	var names []string
	room := textLimit
	for i, each := range r.objects {
		name := each.String()
		if room -= utf8.RuneCountInString(name); room < 0 {
			return fmt.Sprintf("%s, and %d more; `%s` names all of them", cell(strings.Join(names, ", ")), len(r.objects)-i, command)
		}
		names = append(names, name)
	}
	return cell(strings.Join(names, ", "))
}

// fitting returns as much of the plan as the limit allows. What does not fit is left out: diffs, and when none is left, rows. If anything is, what is refused, deleted or
// recreated comes first.
func (m *markdownPlan) fitting() string {
	all := m.rows
	if !m.diff {
		all = nil
	}
	if whole := m.text(len(m.rows), all); isFitting(whole) {
		return whole
	}
	slices.SortStableFunc(m.rows, func(a, b *markdownRow) int { return cmp.Compare(a.rank(), b.rank()) })
	var chosen []*markdownRow
	if m.diff {
		const frame = 200 // characters around the diffs, and more to say of them
		room := markdownLimit - frame - utf8.RuneCountInString(m.text(len(m.rows), nil))
		for _, row := range m.rows {
			if n := utf8.RuneCountInString(row.text); n <= room {
				room, chosen = room-n, append(chosen, row)
			}
		}
	}
	low, high := 0, len(m.rows)
	for low < high {
		if middle := (low + high + 1) / 2; isFitting(m.text(middle, chosen)) {
			low = middle
		} else {
			high = middle - 1
		}
	}
	return m.text(low, chosen)
}

func isFitting(text string) bool { return utf8.RuneCountInString(text) <= markdownLimit }

// ordinary is the rank of what is neither refused nor deleted nor recreated.
const ordinary = 3

// rank is lower for what a reviewer must not miss.
func (r *markdownRow) rank() int {
	switch {
	case r.refused:
		return 0
	case r.change.Action == diff.ActionDelete || r.change.Action == diff.ActionComplete:
		return 1
	case r.change.Action == diff.ActionRecreate:
		return 2
	default:
		return ordinary
	}
}

// text returns the plan with the first rows, and with the diffs of the given ones.
func (m *markdownPlan) text(rows int, diffs []*markdownRow) string {
	var b, texts strings.Builder
	b.WriteString(m.head)
	if len(m.rows) > 0 {
		b.WriteString("\n| Object | Change | Why |\n|---|---|---|\n")
	}
	for _, row := range m.rows[:rows] {
		b.WriteString(row.line(m.command))
	}
	b.WriteString(m.repetition)
	b.WriteString(m.omission(rows, diffs))
	for _, row := range diffs {
		texts.WriteString(row.text)
	}
	if texts.Len() > 0 {
		fence := fenceFor(texts.String())
		fmt.Fprintf(&b, "\n<details><summary>Diff</summary>\n\n%sdiff\n%s%s\n\n</details>\n", fence, strings.TrimRight(texts.String(), "\n")+"\n", fence)
	}
	return b.String()
}

// omission says what is left out; empty if nothing is.
func (m *markdownPlan) omission(rows int, diffs []*markdownRow) string {
	var parts []string
	left := func(what string, of []*markdownRow) {
		count, grave := 0, 0
		for _, row := range of {
			count += len(row.objects)
			if row.rank() < ordinary {
				grave++
			}
		}
		switch {
		case count == 1:
			parts = append(parts, fmt.Sprintf("the %s of %s", what, cell(of[0].objects[0].String())))
		case count > 1:
			parts = append(parts, fmt.Sprintf("the %ss of %d objects, such as %s", what, count, cell(of[0].objects[0].String())))
			if grave > 0 {
				parts[len(parts)-1] += fmt.Sprintf(" (**%d of them are refused, deleted or recreated**)", grave)
			}
		}
	}
	left("row", m.rows[rows:])
	if m.diff {
		shown := map[*markdownRow]bool{}
		for _, row := range diffs {
			shown[row] = true
		}
		left("diff", slices.DeleteFunc(slices.Clone(m.rows), func(row *markdownRow) bool { return shown[row] }))
	}
	if len(parts) == 0 {
		return ""
	}
	return fmt.Sprintf("\nLeft out, because a comment cannot be longer: %s. To see everything, with the sources and flags of this plan: `%s`\n",
		strings.Join(parts, ", and "), m.command)
}

// shortCell is cell for a text that may be long.
func shortCell(text string) string {
	if runes := []rune(text); len(runes) > textLimit {
		text = string(runes[:textLimit]) + "…"
	}
	return cell(text)
}
