// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package display

import (
	"fmt"
	"slices"
	"strings"
)

// foldedFrom is how many objects that change alike share a row. Fewer are no shorter in one.
const foldedFrom = 4

// Fold puts items together whose objects are updated or corrected alike: for the same reason, in the same lines, and at
// the same places. Of returns the change of an item and its lines. Items with a refusal or notes stay on their own.
func Fold[T any](items []T, of func(item T) (Change, Lines)) [][]T {
	var folded [][]T
	at := map[string]int{}
	for _, item := range items {
		change, lines := of(item)
		key := fmt.Sprint(change.Action, "\n", change.Reason, "\n", change.Local, "\n", lines.places, lines.Text)
		if i, known := at[key]; known {
			folded[i] = append(folded[i], item)
			continue
		}
		isPlain := change.Action == ActionUpdate || change.Action == ActionCorrect
		if isPlain && len(lines.Text) > 0 && change.Refusal == "" && len(change.Notes) == 0 {
			at[key] = len(folded)
		}
		folded = append(folded, []T{item})
	}
	var rows [][]T
	for _, row := range folded {
		if len(row) >= foldedFrom {
			rows = append(rows, row)
			continue
		}
		for _, item := range row {
			rows = append(rows, []T{item})
		}
	}
	return rows
}

// Lines are the lines of an object that change.
type Lines struct {
	// Text has each line with its sign, without those around them.
	Text []string
	// places are the paths of their fields.
	places []string
}

// Lines returns the lines of an object that change; none if the object is created or deleted, or if its content is not
// known. Values of Secrets are masked.
func (w *Writer) Lines(change Change) Lines {
	var lines Lines
	if change.Before == nil || change.After == nil {
		return lines
	}
	edits := compare(w.content(change.Before), w.content(change.After))
	for i, edit := range edits {
		if sign := signs[edit.Type]; sign != "" {
			lines.Text = append(lines.Text, sign+" "+strings.TrimPrefix(strings.TrimSpace(edit.Text), "- "))
			lines.places = append(lines.places, pathOf(edits, i))
		}
	}
	return lines
}

// maxLines is how many changed lines are shown where there is no diff.
const maxLines = 6

// LinesText shows changed lines, indented, or counts them if there are many.
func LinesText(lines []string) string {
	if len(lines) > maxLines {
		return fmt.Sprintf("    %d lines change\n", len(lines))
	}
	var text strings.Builder
	for _, line := range lines {
		text.WriteString("    " + Clean(line) + "\n")
	}
	return text.String()
}

// FoldedText describes what several objects have in common: their number, the first of them, and the lines that change
// in their metadata. Other lines, which may be confidential, are only counted.
func FoldedText(names []string, lines Lines) (count, some, text string) {
	const named = 3
	text = LinesText(lines.Text)
	if slices.ContainsFunc(lines.places, func(place string) bool { return !strings.HasPrefix(place, "metadata") }) {
		text = fmt.Sprintf("    %s in %s\n", Count(len(lines.Text), "changed line"), Enumerate(slices.Compact(slices.Clone(lines.places)), named))
	}
	return Count(len(names), "object"), Enumerate(names, named), text
}

// brief writes a row for each change, or for several objects that change alike.
func (w *Writer) brief(changes []Change) {
	type item struct {
		Change
		lines Lines
	}
	items := Map(changes, func(change Change) item { return item{change, w.Lines(change)} })
	for _, row := range Fold(items, func(each item) (Change, Lines) { return each.Change, each.lines }) {
		first := row[0].Change
		first.Before, first.After = nil, nil
		if len(row) == 1 {
			w.change(first)
			continue
		}
		count, some, text := FoldedText(Map(row, func(each item) string { return each.Object }), row[0].lines)
		first.Object = count
		w.change(first)
		w.text("    ", Clean(some))
		w.out.WriteString(text)
	}
}
