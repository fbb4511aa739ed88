// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package display

import (
	"bytes"
	"fmt"
	"io"
	"strings"
)

// Action is what an operation would do to an object. The empty action leaves it as it is.
type Action string

const (
	// ActionCreate means that the object does not exist.
	ActionCreate Action = "create"
	// ActionAdopt means that the object exists, and does not belong to the owner yet.
	ActionAdopt Action = "adopt"
	// ActionUpdate means that the manifest has changed.
	ActionUpdate Action = "update"
	// ActionRecreate means that the object is deleted and created again.
	ActionRecreate Action = "recreate"
	// ActionCorrect means that another client has changed the object.
	ActionCorrect Action = "correct"
	// ActionRestore means that another client has deleted the object.
	ActionRestore Action = "restore"
	// ActionDelete means that the object is redundant.
	ActionDelete Action = "delete"
	// ActionComplete means that the object is purged.
	ActionComplete Action = "complete"
	// ActionOrphan means that the ownership ends, and the object stays.
	ActionOrphan Action = "orphan"
	// ActionKeep means that the object differs from its manifest, and is left alone.
	ActionKeep Action = "keep"
	// ActionRepeat means that the object is applied again although its manifest is the same, as hooks are. Write shows
	// all of them in one line.
	ActionRepeat Action = "run again"
)

// notation has the symbols and verbs of actions, in the order of the summary.
var notation = []struct {
	action Action
	symbol string
	paint  func(Style, string) string
}{
	{ActionCreate, "+", Style.Green},
	{ActionAdopt, "~", Style.Yellow},
	{ActionUpdate, "~", Style.Yellow},
	{ActionRecreate, "±", Style.Yellow},
	{ActionCorrect, "~", Style.Yellow},
	{ActionRestore, "+", Style.Green},
	{ActionDelete, "-", Style.Red},
	{ActionComplete, "-", Style.Red},
	{ActionOrphan, "=", Style.Yellow},
	{ActionKeep, "=", Style.Faint},
	{ActionRepeat, "↻", Style.Faint},
}

// Change is what would happen to one object.
type Change struct {
	// Object is the display name of the object, such as "Deployment default/web".
	Object string
	// Action is what the operation would do.
	Action Action
	// Reason is a text such as "manifest changed"; may be empty.
	Reason string
	// Refusal says why the operation refuses the action; empty if it does not.
	Refusal string
	// Notes are further lines about the object.
	Notes []string
	// Local means that After was computed without the server.
	Local bool
	// Before and After are the content of the object; nil if it does not exist, or if the content is unknown. Write
	// does not modify them.
	Before, After map[string]any
}

// DiffOptions are the options of WriteDiff and NewWriter.
type DiffOptions struct {
	// Style decides whether the output is coloured.
	Style Style
	// Context is the number of unchanged lines to show around a change. Defaults to 3; -1 means the whole object.
	Context *int
	// ShowSecrets shows values of Secrets unmasked.
	ShowSecrets bool
	// Limit is the number of cells that lines have to fit in, except those of differences. Names are then shortened in
	// the middle, and texts are wrapped. Defaults to no limit.
	Limit int
}

// defaultContext is the default of other diff programs.
const defaultContext = 3

// WriteDiff shows each change, and the number of changes of each kind. It fails if writing fails.
func WriteDiff(out io.Writer, changes []Change, options DiffOptions) error {
	w := NewWriter(options)
	for _, change := range changes {
		if !change.repeats() {
			w.change(change)
		}
	}
	if line := Repetition(changes); line != "" {
		line = "↻ " + line
		if w.Limit > 0 {
			line = Truncate(line, w.Limit)
		}
		w.out.WriteString(w.Style.Faint(line) + "\n")
	}
	w.text("", summary(changes, options.Style))
	_, err := w.out.WriteTo(out)
	return err
}

// A Writer shows changes one by one. Equal values of Secrets are masked equally in all of them.
type Writer struct {
	DiffOptions
	out bytes.Buffer
	// masks number the secret values that occur.
	masks map[string]int
}

// NewWriter returns a Writer.
func NewWriter(options DiffOptions) *Writer {
	if options.Context == nil {
		options.Context = new(defaultContext)
	}
	return &Writer{DiffOptions: options, masks: map[string]int{}}
}

// Text shows one change.
func (w *Writer) Text(change Change) string {
	w.out.Reset()
	w.change(change)
	return w.out.String()
}

// repeats reports whether an object is applied again without a change.
func (c Change) repeats() bool { return c.Action == ActionRepeat && c.Refusal == "" }

// Repetition says in one line which objects are applied again without a change; empty if there are none.
func Repetition(changes []Change) string {
	var objects []string
	for _, change := range changes {
		if change.repeats() {
			objects = append(objects, Clean(change.Object))
		}
	}
	switch len(objects) {
	case 0:
		return ""
	case 1:
		return "1 hook runs again, unchanged: " + objects[0]
	default:
		return fmt.Sprintf("%d hooks run again, unchanged: %s", len(objects), strings.Join(objects, ", "))
	}
}

// Summary returns the number of changes of each kind.
func Summary(changes []Change) string { return summary(changes, false) }

func (w *Writer) change(change Change) {
	if change.Action == "" && change.Refusal == "" {
		return
	}
	w.header(change)
	if change.Refusal != "" {
		w.text("  ", w.Style.Red("refused: "+Clean(change.Refusal)))
	}
	for _, note := range change.Notes {
		w.text("  ", Clean(note))
	}
	if change.Before != nil || change.After != nil {
		w.hunks(w.content(change.Before), w.content(change.After))
		w.out.WriteString("\n")
	}
}

// header writes an object and the details in one line. If that is too long, the details stand below the object.
func (w *Writer) header(change Change) {
	symbol, paint, details := "!", Style.Red, string(change.Action)
	for _, n := range notation {
		if n.action == change.Action && change.Refusal == "" {
			symbol, paint = n.symbol, n.paint
		}
	}
	if change.Reason != "" {
		details = strings.TrimPrefix(details+": "+Clean(change.Reason), ": ")
	}
	if details != "" {
		details = "  (" + details + ")"
	}
	if change.Local {
		details += "  [local]"
	}
	object := symbol + " " + Clean(change.Object)
	if w.Limit <= 0 || Width(object+details) <= w.Limit {
		w.out.WriteString(paint(w.Style, object) + details + "\n")
		return
	}
	w.out.WriteString(paint(w.Style, symbol+" "+Elide(Clean(change.Object), w.Limit-len("  "))) + "\n")
	w.text("    ", strings.TrimPrefix(details, "  "))
}

// text writes a text behind the indentation, and wraps it if lines have a limit.
func (w *Writer) text(indent, text string) {
	WriteWrapped(&w.out, indent, text, w.Limit)
}

// summary counts a refused change once, as refused.
func summary(changes []Change, style Style) string {
	counts := map[Action]int{}
	refused := 0
	for _, change := range changes {
		if change.Refusal != "" {
			refused++
			continue
		}
		counts[change.Action]++
	}
	var parts []string
	for _, n := range notation {
		if count := counts[n.action]; count > 0 {
			parts = append(parts, n.paint(style, fmt.Sprintf("%d to %s", count, n.action)))
		}
	}
	if refused > 0 {
		parts = append(parts, style.Red(fmt.Sprintf("%d refused", refused)))
	}
	if len(parts) == 0 {
		parts = append(parts, "nothing to do")
	}
	if count := counts[""]; count > 0 {
		parts = append(parts, fmt.Sprintf("%d unchanged", count))
	}
	return strings.Join(parts, ", ")
}
