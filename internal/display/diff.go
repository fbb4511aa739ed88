// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package display

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/sergi/go-diff/diffmatchpatch"
	"sigs.k8s.io/yaml"

	"github.com/component-operator/runtime/internal/texts"
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

// notation has the symbols and colors of actions, in the order of the summary.
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

// Change is what would happen to one object. Its JSON form is for output for programs.
type Change struct {
	// Object is the display name of the object, such as "Deployment default/web".
	Object string `json:"-"`
	// Action is what the operation would do.
	Action Action `json:"action,omitempty"`
	// Reason is a text such as "manifest changed"; may be empty.
	Reason string `json:"reason,omitempty"`
	// Refusal is the reason why the operation refuses the action; empty if it does not.
	Refusal string `json:"refusal,omitempty"`
	// Notes are further lines about the object.
	Notes []string `json:"notes,omitempty"`
	// Local means that After was computed without the server.
	Local bool `json:"local,omitempty"`
	// Before and After are the content of the object; nil if it does not exist, or if the content is unknown. Write
	// does not modify them.
	Before, After map[string]any `json:"-"`
}

// DiffOptions are the options of WriteDiff and NewWriter.
type DiffOptions struct {
	// Style decides whether the output is colored.
	Style Style
	// Context is the number of unchanged lines to show around a change. Defaults to 3; -1 means the whole object.
	Context *int
	// ShowSecrets shows values of Secrets unmasked.
	ShowSecrets bool
	// Brief shows no differences, and one row for many objects that change alike. Defaults to false.
	Brief bool
	// Limit is the maximum width of lines, except those of differences, in cells. Names are shortened in the middle,
	// and texts are wrapped. Defaults to no limit.
	Limit int
}

// defaultContext is the default of other diff programs.
const defaultContext = 3

// WriteDiff shows each change, and the number of changes of each kind. It fails if writing fails.
func WriteDiff(out io.Writer, changes []Change, options DiffOptions) error {
	w := NewWriter(options)
	shown := slices.DeleteFunc(slices.Clone(changes), Change.repeats)
	if options.Brief {
		w.brief(shown)
	} else {
		for _, change := range shown {
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
	// masks numbers the secret values.
	masks map[string]int
}

// NewWriter returns a Writer.
func NewWriter(options DiffOptions) *Writer {
	if options.Context == nil {
		options.Context = new(defaultContext)
	}
	return &Writer{DiffOptions: options, masks: map[string]int{}}
}

// Text returns the text of one change.
func (w *Writer) Text(change Change) string {
	w.out.Reset()
	w.change(change)
	return w.out.String()
}

// repeats reports whether an object is applied again without a change.
func (c Change) repeats() bool { return c.Action == ActionRepeat && c.Refusal == "" }

// Repetition lists the objects that are applied again without a change in one line; empty if there are none.
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

// header writes an object and the details in one line. If that is too long, it writes the details below the object.
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

// text writes an indented text, and wraps it if lines have a limit.
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

// An edit is a line of both objects, or of only one of them.
type edit = diffmatchpatch.Diff

// signs are those of changed lines.
var signs = map[diffmatchpatch.Operation]string{diffmatchpatch.DiffDelete: "-", diffmatchpatch.DiffInsert: "+"}

// hunks writes the differences, each hunk below the path of the field with its first change.
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
			text := " " + edit.Text
			switch edit.Type {
			case diffmatchpatch.DiffDelete:
				text = w.Style.Red("-" + edit.Text)
			case diffmatchpatch.DiffInsert:
				text = w.Style.Green("+" + edit.Text)
			case diffmatchpatch.DiffEqual:
			}
			w.out.WriteString(text + "\n")
		}
	}
}

// compare computes the smallest difference. It has no time limit, so the result is the same on a busy machine.
func compare(before, after string) []edit {
	differ := diffmatchpatch.New()
	differ.DiffTimeout = 0
	was, is, lines := differ.DiffLinesToRunes(before, after)
	var edits []edit
	for _, diff := range differ.DiffCharsToLines(differ.DiffMainRunes(was, is, false), lines) {
		for line := range strings.Lines(diff.Text) {
			edits = append(edits, edit{Type: diff.Type, Text: strings.TrimSuffix(line, "\n")})
		}
	}
	return edits
}

// A hunk is a range of edits. The first is the position of its first change.
type hunk struct{ from, to, first int }

// group returns the changes with up to context lines around them; -1 means all. Changes that are close to each other
// form one hunk.
func group(edits []edit, context int) []hunk {
	if context < 0 {
		context = len(edits)
	}
	var hunks []hunk
	for i, edit := range edits {
		if edit.Type == diffmatchpatch.DiffEqual {
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
// of the preceding keys with decreasing indentation.
func pathOf(edits []edit, at int) string {
	var path []string
	below := depth(edits[at].Text)
	for i, line := range slices.Backward(edits[:at]) {
		isOther := line.Type != diffmatchpatch.DiffEqual && line.Type != edits[at].Type
		if isOther || line.Text == "" || depth(line.Text) >= below {
			continue
		}
		key, value, isKey := strings.Cut(strings.TrimSpace(line.Text), ":")
		switch {
		case strings.HasPrefix(key, "- "):
			path = append(path, "["+elementName(edits[i:])+"]")
		case isKey && (value == "" || strings.HasPrefix(value, " |")):
			path = append(path, "."+key)
		default:
			continue // a line of a text
		}
		below = depth(line.Text)
	}
	slices.Reverse(path)
	return strings.TrimPrefix(strings.Join(path, ""), ".")
}

// elementName returns the field "name" of the list element that begins in the first line; empty if there is none.
func elementName(edits []edit) string {
	begin := depth(edits[0].Text)
	for i, line := range edits {
		if i > 0 && depth(line.Text) <= begin {
			break
		}
		field := strings.TrimPrefix(strings.TrimSpace(line.Text), "- ")
		if name, isName := strings.CutPrefix(field, "name: "); isName && depth(line.Text) <= begin+3 {
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

// housekeeping are the metadata fields that only the server writes.
var housekeeping = []string{"managedFields", "resourceVersion", "uid", "generation", "creationTimestamp", "selfLink"}

// content returns the part of the object that is compared, as YAML. It does not modify the object.
func (w *Writer) content(object map[string]any) string {
	if object == nil {
		return ""
	}
	object = maps.Clone(object)
	delete(object, "status")
	if metadata, ok := object["metadata"].(map[string]any); ok {
		metadata = maps.Clone(metadata)
		maps.DeleteFunc(metadata, func(field string, _ any) bool { return slices.Contains(housekeeping, field) })
		object["metadata"] = metadata
	}
	var d document
	if !w.ShowSecrets {
		object = texts.Secret(object, func(value string) any { return w.mask(value) })
	}
	return d.encode(object)
}

// masked replaces a secret value.
type masked string

// mask shows the length and the number of a secret value. Unlike a digest, the number does not help to guess a short
// value.
func (w *Writer) mask(value string) masked {
	number, known := w.masks[value]
	if !known {
		number = len(w.masks) + 1
		w.masks[value] = number
	}
	return masked(fmt.Sprintf("%s (%s, #%d)", texts.Mark, Count(len(value), "byte"), number))
}

// document is a YAML document with placeholders for texts that the encoder would quote: secret values, and texts with
// several lines, whose differences are shown line by line. The encoder would write texts with tabs or trailing blanks
// on one line.
type document struct {
	texts []string
}

// marker is the prefix of placeholders. It is a character for private use; texts that contain it get placeholders, too.
const marker = "\ue000"

func (d *document) placeholder(text string) string {
	d.texts = append(d.texts, text)
	return fmt.Sprintf("%s%d", marker, len(d.texts)-1)
}

// encode returns the lines of an object, with sorted keys.
func (d *document) encode(object map[string]any) string {
	encoded, err := yaml.Marshal(d.prepare(object))
	if err != nil {
		return Escape(err.Error())
	}
	var b strings.Builder
	for line := range strings.Lines(string(encoded)) {
		line = strings.TrimSuffix(line, "\n")
		head, number, found := strings.Cut(line, marker)
		var at int
		if _, err := fmt.Sscan(number, &at); !found || err != nil || at >= len(d.texts) {
			b.WriteString(Escape(line) + "\n")
			continue
		}
		b.WriteString(Escape(head) + block(d.texts[at], len(head)-len(strings.TrimLeft(head, " "))+2) + "\n")
	}
	return b.String()
}

// block returns the YAML form of a text that follows the key of a field.
func block(text string, indent int) string {
	if !strings.Contains(text, "\n") {
		return Escape(text)
	}
	var b strings.Builder
	b.WriteString("|")
	if !strings.HasSuffix(text, "\n") {
		b.WriteString("-")
	}
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		b.WriteString("\n")
		if line != "" {
			b.WriteString(strings.Repeat(" ", indent) + Escape(line))
		}
	}
	return b.String()
}

// prepare replaces the texts with several lines in a copy of a value.
func (d *document) prepare(value any) any {
	switch value := value.(type) {
	case map[string]any:
		result := make(map[string]any, len(value))
		for key, element := range value {
			result[key] = d.prepare(element)
		}
		return result
	case []any:
		result := make([]any, len(value))
		for i, element := range value {
			result[i] = d.prepare(element)
		}
		return result
	case masked:
		return d.placeholder(string(value))
	case string:
		if strings.ContainsAny(value, "\n"+marker) {
			return d.placeholder(value)
		}
	}
	return value
}
