// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package display

import (
	"fmt"
	"unicode/utf8"

	"github.com/sergi/go-diff/diffmatchpatch"
)

// An edit is a line of both objects, or of only one of them.
type edit struct {
	diffLine

	operation diffmatchpatch.Operation
}

// hunks writes the differences, each hunk below the path of the field that its first change is in.
func (w *writer) hunks(before, after []diffLine) {
	edits := compare(before, after)
	hunks := w.group(edits)
	if len(hunks) == 0 {
		w.out.WriteString(w.Style.Faint("  no difference in what is stored") + "\n")
	}
	for _, hunk := range hunks {
		if path := placeOf(hunk); path != "" || len(hunks) > 1 {
			w.out.WriteString(w.Style.Cyan(fmt.Sprintf("@@ %s @@", path)) + "\n")
		}
		for _, edit := range hunk {
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

// group returns the changes with the lines around them. Changes that are close to each other form one hunk.
func (w *writer) group(edits []edit) [][]edit {
	var hunks [][]edit
	end := 0 // of the last hunk
	for i, edit := range edits {
		if edit.operation == diffmatchpatch.DiffEqual {
			continue
		}
		from, to := 0, len(edits)
		if context := *w.Context; context >= 0 {
			from, to = max(0, i-context), min(len(edits), i+context+1)
		}
		if len(hunks) > 0 && from <= end {
			last := &hunks[len(hunks)-1]
			*last = edits[end-len(*last) : to]
		} else {
			hunks = append(hunks, edits[from:to])
		}
		end = to
	}
	return hunks
}

func placeOf(hunk []edit) string {
	for _, edit := range hunk {
		if edit.operation != diffmatchpatch.DiffEqual {
			return edit.path
		}
	}
	return ""
}

// compare computes the smallest difference, without a time limit, so that the same objects give the same difference on
// a busy machine. Lines of only one object cannot be common; without them, little is left to compare.
func compare(before, after []diffLine) []edit {
	shared := newAlphabet(before, after)
	from, to := shared.encode(before), shared.encode(after)
	differ := diffmatchpatch.New()
	differ.DiffTimeout = 0
	var edits []edit
	add := func(operation diffmatchpatch.Operation, lines []diffLine) {
		for _, line := range lines {
			edits = append(edits, edit{diffLine: line, operation: operation})
		}
	}
	var was, is int // positions in both objects
	for _, diff := range differ.DiffMainRunes(from.text, to.text, false) {
		n := utf8.RuneCountInString(diff.Text)
		if diff.Type == diffmatchpatch.DiffEqual {
			for i := range n {
				add(diffmatchpatch.DiffDelete, before[was:from.lineNumbers[i]])
				add(diffmatchpatch.DiffInsert, after[is:to.lineNumbers[i]])
				was, is = from.lineNumbers[i]+1, to.lineNumbers[i]+1
				add(diffmatchpatch.DiffEqual, after[is-1:is])
			}
		}
		if diff.Type != diffmatchpatch.DiffInsert {
			from.lineNumbers = from.lineNumbers[n:]
		}
		if diff.Type != diffmatchpatch.DiffDelete {
			to.lineNumbers = to.lineNumbers[n:]
		}
	}
	add(diffmatchpatch.DiffDelete, before[was:])
	add(diffmatchpatch.DiffInsert, after[is:])
	return edits
}
