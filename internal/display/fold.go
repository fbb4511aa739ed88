// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package display

import (
	"fmt"
	"strings"
)

// Folded has items whose objects change alike: for the same reason, and in the same lines.
type Folded[T any] struct {
	// Items are in the order in which they were given.
	Items []T
	// Lines are the lines that change, with their signs; empty if there is only one item.
	Lines []string
}

// foldedFrom is how many objects that change alike share a row. Fewer are no shorter in one.
const foldedFrom = 4

// Fold puts items together whose objects change alike. Of returns the change of an item, and the lines from
// [Writer.Lines]. Items without lines, and those with a refusal or notes, stay on their own.
func Fold[T any](items []T, of func(item T) (Change, []string)) []Folded[T] {
	var folded []Folded[T]
	at := map[string]int{}
	for _, item := range items {
		change, lines := of(item)
		key := fmt.Sprint(change.Action, "\n", change.Reason, "\n", change.Local, "\n", strings.Join(lines, "\n"))
		if i, known := at[key]; known {
			folded[i].Items = append(folded[i].Items, item)
			continue
		}
		if len(lines) > 0 && change.Refusal == "" && len(change.Notes) == 0 {
			at[key] = len(folded)
		}
		folded = append(folded, Folded[T]{Items: []T{item}, Lines: lines})
	}
	var rows []Folded[T]
	for _, each := range folded {
		if len(each.Items) >= foldedFrom {
			rows = append(rows, each)
			continue
		}
		for _, item := range each.Items {
			rows = append(rows, Folded[T]{Items: []T{item}})
		}
	}
	return rows
}

// Lines returns the lines of an object that change, each with its sign, without those around them; none if the object
// is created or deleted, or if its content is not known. Values of Secrets are masked.
func (w *Writer) Lines(change Change) []string {
	if change.Before == nil || change.After == nil {
		return nil
	}
	var lines []string
	for _, edit := range compare(w.content(change.Before), w.content(change.After)) {
		if sign := signs[edit.Type]; sign != "" {
			lines = append(lines, sign+" "+strings.TrimPrefix(strings.TrimSpace(edit.Text), "- "))
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

// FoldedText names the objects of several items: their number, and the first of them.
func FoldedText(names []string) (count, some string) {
	const named = 3
	return Count(len(names), "object"), Enumerate(names, named)
}

// brief writes a row for each change, or for several objects that change alike.
func (w *Writer) brief(changes []Change) {
	for _, row := range Fold(changes, func(change Change) (Change, []string) { return change, w.Lines(change) }) {
		first := row.Items[0]
		first.Before, first.After = nil, nil
		if len(row.Items) == 1 {
			w.change(first)
			continue
		}
		count, some := FoldedText(Map(row.Items, func(change Change) string { return change.Object }))
		first.Object = count
		w.change(first)
		w.text("    ", Clean(some))
		w.out.WriteString(LinesText(row.Lines))
	}
}
