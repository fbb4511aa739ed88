// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"fmt"
	"unicode/utf8"

	"github.com/sergi/go-diff/diffmatchpatch"
)

// An edit is a line that both objects have, or only one of them.
type edit struct {
	line

	operation diffmatchpatch.Operation
}

// hunks writes what differs, each piece below the path of the field in which its first change is.
func (w *writer) hunks(before, after []line) {
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

// group returns the changes with the lines around them. What is close to one another is one piece.
func (w *writer) group(edits []edit) [][]edit {
	var hunks [][]edit
	end := 0 // of the last piece
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

// compare finds the smallest difference, whatever time that takes: the same objects have the same difference on a busy
// machine. Lines that only one of them has cannot be part of what both have; without them little is left to be searched.
func compare(before, after []line) []edit {
	shared := newAlphabet(before, after)
	from, to := shared.encode(before), shared.encode(after)
	differ := diffmatchpatch.New()
	differ.DiffTimeout = 0
	var edits []edit
	add := func(operation diffmatchpatch.Operation, lines []line) {
		for _, line := range lines {
			edits = append(edits, edit{line: line, operation: operation})
		}
	}
	var was, is int // what is done of both
	for _, diff := range differ.DiffMainRunes(from.text, to.text, false) {
		n := utf8.RuneCountInString(diff.Text)
		if diff.Type == diffmatchpatch.DiffEqual {
			for i := range n {
				add(diffmatchpatch.DiffDelete, before[was:from.places[i]])
				add(diffmatchpatch.DiffInsert, after[is:to.places[i]])
				was, is = from.places[i]+1, to.places[i]+1
				add(diffmatchpatch.DiffEqual, after[is-1:is])
			}
		}
		if diff.Type != diffmatchpatch.DiffInsert {
			from.places = from.places[n:]
		}
		if diff.Type != diffmatchpatch.DiffDelete {
			to.places = to.places[n:]
		}
	}
	add(diffmatchpatch.DiffDelete, before[was:])
	add(diffmatchpatch.DiffInsert, after[is:])
	return edits
}
