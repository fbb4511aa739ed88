// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package display

import (
	"slices"
	"strings"

	"github.com/sergi/go-diff/diffmatchpatch"
)

// An edit is a line of both objects, or of only one of them.
type edit struct {
	text      string
	operation diffmatchpatch.Operation
}

// hunks writes the differences, each hunk below the path of the field that its first change is in.
func (w *Writer) hunks(before, after string) {
	edits := compare(before, after)
	hunks := group(edits, *w.Context)
	if len(hunks) == 0 {
		w.out.WriteString(w.Style.Faint("  no difference in what is stored") + "\n")
	}
	for _, hunk := range hunks {
		if path := pathOf(edits, hunk.first); path != "" || len(hunks) > 1 {
			w.out.WriteString(w.Style.Cyan("@@ "+path+" @@") + "\n")
		}
		for _, edit := range edits[hunk.from:hunk.to] {
			text := " " + edit.text
			switch edit.operation {
			case diffmatchpatch.DiffDelete:
				text = w.Style.Red("-" + edit.text)
			case diffmatchpatch.DiffInsert:
				text = w.Style.Green("+" + edit.text)
			case diffmatchpatch.DiffEqual:
			}
			w.out.WriteString(text + "\n")
		}
	}
}

// compare computes the smallest difference, without a time limit, so that the same objects give the same difference on
// a busy machine.
func compare(before, after string) []edit {
	differ := diffmatchpatch.New()
	differ.DiffTimeout = 0
	was, is, lines := differ.DiffLinesToRunes(before, after)
	var edits []edit
	for _, diff := range differ.DiffCharsToLines(differ.DiffMainRunes(was, is, false), lines) {
		for line := range strings.Lines(diff.Text) {
			edits = append(edits, edit{strings.TrimSuffix(line, "\n"), diff.Type})
		}
	}
	return edits
}

// A hunk is a range of edits. The first is the position of its first change.
type hunk struct{ from, to, first int }

// group returns the changes with that many lines around them; -1 means all. Changes that are close to each other form
// one hunk.
func group(edits []edit, context int) []hunk {
	if context < 0 {
		context = len(edits)
	}
	var hunks []hunk
	for i, edit := range edits {
		if edit.operation == diffmatchpatch.DiffEqual {
			continue
		}
		from, to := max(0, i-context), min(len(edits), i+context+1)
		if last := len(hunks) - 1; last >= 0 && from <= hunks[last].to {
			hunks[last].to = to
		} else {
			hunks = append(hunks, hunk{from, to, i})
		}
	}
	return hunks
}

// pathOf returns the path of the field that contains a line, such as "spec.template.spec.containers[main]". It consists
// of the keys before the line that are indented less and less.
func pathOf(edits []edit, at int) string {
	var path []string
	below := depth(edits[at].text)
	for i, line := range slices.Backward(edits[:at]) {
		isOther := line.operation != diffmatchpatch.DiffEqual && line.operation != edits[at].operation
		if isOther || line.text == "" || depth(line.text) >= below {
			continue
		}
		key, value, isKey := strings.Cut(strings.TrimSpace(line.text), ":")
		switch {
		case strings.HasPrefix(key, "- "):
			path = append(path, "["+elementName(edits[i:])+"]")
		case isKey && (value == "" || strings.HasPrefix(value, " |")):
			path = append(path, "."+key)
		default:
			continue // a line of a text
		}
		below = depth(line.text)
	}
	slices.Reverse(path)
	return strings.TrimPrefix(strings.Join(path, ""), ".")
}

// elementName returns the field "name" of an element of a list, which begins with the first line; empty if there is
// none.
func elementName(edits []edit) string {
	begin := depth(edits[0].text)
	for i, line := range edits {
		if i > 0 && depth(line.text) <= begin {
			break
		}
		field := strings.TrimPrefix(strings.TrimSpace(line.text), "- ")
		if name, isName := strings.CutPrefix(field, "name: "); isName && depth(line.text) <= begin+3 {
			return name
		}
	}
	return ""
}

// depth orders lines of YAML by their indentation. The elements of a list are one step below its key, although they are
// not indented.
func depth(line string) int {
	text := strings.TrimLeft(line, " ")
	steps := 2 * (len(line) - len(text))
	if strings.HasPrefix(text, "- ") {
		steps++
	}
	return steps
}
