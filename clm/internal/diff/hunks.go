// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/sergi/go-diff/diffmatchpatch"
)

// patience is the time after which an object that has tens of thousands of lines, and has become another one altogether,
// gets a difference that is longer than it could be.
const patience = time.Second

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
		if w.Context >= 0 {
			from, to = max(0, i-w.Context), min(len(edits), i+w.Context+1)
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

// Surrogates are numbers of no characters: a text that has them would not survive.
const (
	surrogates      = 0xd800
	afterSurrogates = 0xe000
)

// compare has the library compare texts in which each different line is one character.
func compare(before, after []line) []edit {
	characters := map[string]rune{}
	encode := func(lines []line) []rune {
		text := make([]rune, len(lines))
		for i, line := range lines {
			character, known := characters[line.text]
			if !known {
				character = rune(len(characters) + 1)
				if character >= surrogates {
					character += afterSurrogates - surrogates
				}
				characters[line.text] = character
			}
			text[i] = character
		}
		return text
	}
	differ := diffmatchpatch.New()
	differ.DiffTimeout = patience
	var edits []edit
	for _, diff := range differ.DiffMainRunes(encode(before), encode(after), false) {
		n := utf8.RuneCountInString(diff.Text)
		from := before
		if diff.Type == diffmatchpatch.DiffInsert {
			from = after
		}
		for _, line := range from[:n] {
			edits = append(edits, edit{line: line, operation: diff.Type})
		}
		if diff.Type != diffmatchpatch.DiffInsert {
			before = before[n:]
		}
		if diff.Type != diffmatchpatch.DiffDelete {
			after = after[n:]
		}
	}
	return edits
}
