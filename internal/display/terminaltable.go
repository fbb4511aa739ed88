// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package display

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/displaywidth"
)

// Fit is how the cells of a column are shortened if the table is wider than the terminal. The zero value is Whole.
type Fit int

const (
	// Whole is for states, ages and numbers, which are never shortened.
	Whole Fit = iota
	// Middle is for names, which keep their beginnings and ends.
	Middle
	// End is for messages, which keep their beginnings.
	End
	// Below is for messages in the last column that must not be shortened: if a row is wider than the terminal, the
	// messages of all rows follow below their rows, and the column is left out.
	Below
)

// Column is a column of a table.
type Column struct {
	// Header is the title; a table without titles has no header.
	Header string
	// Fit of the cells. Defaults to Whole.
	Fit Fit
	// Right aligns cells to the right.
	Right bool
	// Spare means that the column is left out if the others would become too narrow. The last such column is left out
	// first.
	Spare bool
}

// Cell is a text in a column.
type Cell struct {
	// Lead is the part before the text that is never shortened, such as the lines of a tree.
	Lead string
	// Text may be any text: the table applies [Clean] to it.
	Text string
	// Paint colors the text after it was shortened; nil leaves it as it is.
	Paint func(text string) string
}

const (
	// columnGap is the number of blanks between columns.
	columnGap = 2
	// minColumn is the least width of a column that is shortened.
	minColumn = 10
	// usefulColumn is the width below which a shortened column is of little use, so spare columns are left out instead.
	usefulColumn = 16
	// minNameWidth is the least width in which a name is shortened in its middle.
	minNameWidth = 4
	// minWrap is the least width in which the lines between rows are wrapped.
	minWrap = 20
	// hanging is the indentation of all lines of a wrapped text but the first.
	hanging = "  "
)

// BelowIndent is the indentation of texts below their rows.
const BelowIndent = "    "

// Table aligns cells in columns. It is not safe for concurrent use.
//
// With a limit, columns that may be shortened share the remaining width, and spare columns are left out to make room
// for them. Columns without a title and without texts are left out, too. Without a limit, nothing is shortened or left
// out.
type Table struct {
	columns []Column
	limit   int
	rows    []tableRow
}

// tableRow is a row of cells, or a line below one.
type tableRow struct {
	cells []Cell
	below bool
}

// NewTable returns an empty table. The limit is a result of [Limit]; zero means no limit.
func NewTable(limit int, columns ...Column) *Table { return &Table{columns: columns, limit: limit} }

// Add adds a row. Missing cells at its end are empty.
func (t *Table) Add(cells ...Cell) {
	t.add(false, append(slices.Clone(cells), make([]Cell, len(t.columns)-len(cells))...))
}

func (t *Table) add(below bool, cells []Cell) {
	for i := range cells {
		cells[i].Text = Clean(cells[i].Text)
	}
	t.rows = append(t.rows, tableRow{cells: cells, below: below})
}

// AddTexts adds a row of cells without colors.
func (t *Table) AddTexts(texts ...string) {
	cells := make([]Cell, len(texts))
	for i, text := range texts {
		cells[i].Text = text
	}
	t.Add(cells...)
}

// AddBelow adds a text below the last row that is not in a column. It is wrapped between words, because its end is
// often important.
func (t *Table) AddBelow(text Cell) { t.add(true, []Cell{text}) }

// Write writes the header and all rows in one write. It fails if writing fails.
func (t *Table) Write(out io.Writer) error {
	lines := t.Lines()
	if len(lines) == 0 {
		return nil
	}
	_, err := io.WriteString(out, strings.Join(lines, "\n")+"\n")
	return err
}

// Lines returns the header, unless there are no titles, and all rows.
func (t *Table) Lines() []string {
	widths := t.widths()
	last := len(t.columns) - 1
	isBelow := last >= 0 && t.columns[last].Fit == Below && widths[last] == 0
	header := make([]Cell, len(t.columns))
	for i, column := range t.columns {
		header[i].Text = column.Header
	}
	var lines []string
	if text := t.line(widths, header); text != "" {
		lines = append(lines, text)
	}
	for _, row := range t.rows {
		if row.below {
			lines = append(lines, wrapBelow(row.cells[0], t.limit)...)
			continue
		}
		lines = append(lines, t.line(widths, row.cells))
		if isBelow && row.cells[last].Text != "" {
			text := row.cells[last]
			text.Lead = BelowIndent
			lines = append(lines, wrapBelow(text, t.limit)...)
		}
	}
	return lines
}

// widths returns the widths of the columns; zero for those that are left out.
func (t *Table) widths() []int {
	widths := make([]int, len(t.columns))
	for i, column := range t.columns {
		widths[i] = Width(column.Header)
	}
	for _, row := range t.rows {
		for i, cell := range row.cells {
			if !row.below {
				widths[i] = max(widths[i], Width(cell.Lead)+Width(cell.Text))
			}
		}
	}
	if t.limit <= 0 {
		return widths
	}
	if last := len(widths) - 1; last >= 0 && t.columns[last].Fit == Below && t.total(widths, math.MaxInt) > t.limit {
		widths[last] = 0
	}
	for i, column := range slices.Backward(t.columns) {
		if column.Spare && t.total(widths, usefulColumn) > t.limit {
			widths[i] = 0
		}
	}
	t.share(widths)
	return widths
}

// total returns the width of a row if columns that may be shortened have at most the given width.
func (t *Table) total(widths []int, most int) int {
	total := -columnGap
	for i, width := range widths {
		if t.columns[i].Fit != Whole {
			width = min(width, most)
		}
		if width > 0 {
			total += width + columnGap
		}
	}
	return total
}

// share distributes the remaining width equally among the columns that may be shortened. Wider columns get the width
// that a column does not need.
func (t *Table) share(widths []int) {
	var flexible []int
	room := t.limit - t.total(widths, math.MaxInt)
	for i, width := range widths {
		if t.columns[i].Fit != Whole && width > 0 {
			flexible = append(flexible, i)
			room += width
		}
	}
	slices.SortFunc(flexible, func(a, b int) int { return cmp.Compare(widths[a], widths[b]) })
	for n, i := range flexible {
		widths[i] = min(widths[i], max(room/(len(flexible)-n), minColumn))
		room -= widths[i]
	}
}

// line returns a row without blanks at its end.
func (t *Table) line(widths []int, cells []Cell) string {
	var b strings.Builder
	blanks := 0
	for i, column := range t.columns {
		if widths[i] == 0 {
			continue
		}
		cell := cells[i]
		text := cell.fitting(column.Fit, widths[i])
		padding := max(widths[i]-Width(text), 0)
		if column.Right {
			blanks, padding = blanks+padding, 0
		}
		if text != "" {
			b.WriteString(strings.Repeat(" ", blanks) + text)
			blanks = 0
		}
		blanks += padding + columnGap
	}
	return b.String()
}

// fitting returns the lead and the colored text of a cell, shortened to the width.
func (c Cell) fitting(fit Fit, width int) string {
	text, room := c.Text, width-Width(c.Lead)
	switch {
	case fit == Whole || Width(text) <= room:
	case room <= 0:
		return Truncate(c.Lead+text, width)
	case fit == End || room < minNameWidth:
		text = Truncate(text, room)
	default:
		text = Elide(text, room)
	}
	if c.Paint != nil {
		text = c.Paint(text)
	}
	return c.Lead + text
}

// wrapBelow returns the lines of a text below a row.
func wrapBelow(text Cell, limit int) []string {
	lines := []string{text.Text}
	if limit > 0 {
		lines = WrapHanging(text.Text, max(limit-Width(text.Lead), minWrap))
	}
	for i, line := range lines {
		if text.Paint != nil {
			line = text.Paint(line)
		}
		lines[i] = text.Lead + line
	}
	return lines
}

// cells measures text that may contain color sequences.
var cells = displaywidth.Options{ControlSequences: true}

// Width returns the number of cells that a line occupies, without color sequences.
func Width(line string) int { return cells.String(line) }

// Truncate shortens a line to the width, and ends it with an ellipsis if it was cut. Color sequences stay intact.
func Truncate(line string, width int) string {
	if width <= 0 {
		return ""
	}
	return cells.TruncateString(line, width, "…")
}

// Elide shortens a line to the width, and puts an ellipsis in its middle if it was cut: people recognize a name by its
// beginning and end.
func Elide(line string, width int) string {
	if Width(line) <= width || width < 3 {
		return Truncate(line, width)
	}
	end := line
	for Width(end) > (width-1)/2 {
		_, size := utf8.DecodeRuneInString(end)
		end = end[size:]
	}
	return strings.TrimSuffix(Truncate(line, width-Width(end)), "…") + "…" + end
}

// Wrap breaks a line between words so that each line occupies at most that many cells. A word that is longer is broken,
// too.
func Wrap(text string, width int) []string {
	if Width(text) <= width {
		return []string{text}
	}
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && Width(line)+1+Width(word) <= width {
			line += " " + word
			continue
		}
		if line != "" {
			lines = append(lines, line)
		}
		pieces := pieces(word, width)
		lines, line = append(lines, pieces[:len(pieces)-1]...), pieces[len(pieces)-1]
	}
	return append(lines, line)
}

// WrapHanging is like Wrap, but indents all lines except the first by two blanks.
func WrapHanging(text string, width int) []string {
	lines := Wrap(text, width)
	if len(lines) == 1 {
		return lines
	}
	lines = Wrap(text, width-len(hanging))
	for i := range lines[1:] {
		lines[i+1] = hanging + lines[i+1]
	}
	return lines
}

// WriteWrapped writes an indented text, and wraps it if the limit is positive. It never shortens the text.
func WriteWrapped(out io.Writer, indent, text string, limit int) {
	lines := []string{text}
	if limit > 0 {
		lines = WrapHanging(text, limit-len(indent))
	}
	for _, line := range lines {
		_, _ = io.WriteString(out, indent+line+"\n")
	}
}

// pieces breaks a word into pieces that occupy at most width cells, but have at least one character.
func pieces(word string, width int) []string {
	var pieces []string
	room, start, end := width, 0, 0
	for characters := cells.StringGraphemes(word); characters.Next(); {
		if characters.Width() > room && end > start {
			pieces = append(pieces, word[start:end])
			room, start = width, end
		}
		room -= characters.Width()
		end += len(characters.Value())
	}
	return append(pieces, word[start:])
}

// Pad appends blanks until the line occupies that many cells.
func Pad(line string, width int) string {
	return line + strings.Repeat(" ", max(0, width-Width(line)))
}

// Clean turns an external text into one safe line: line separators and tabs become blanks, and terminal control
// characters become Go escape sequences.
func Clean(text string) string {
	return Escape(strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' || r == '\t' }), " "))
}

// CleanLines makes an external text safe, and keeps its lines.
func CleanLines(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = Escape(strings.TrimRight(line, "\r"))
	}
	return strings.Join(lines, "\n")
}

// Escape replaces unprintable characters and invalid UTF-8, except tabs, by Go escape sequences.
func Escape(text string) string { return escape(text, func(string) int { return 0 }) }

// escape implements Escape. Before it replaces a character, spare returns how many bytes to keep instead.
func escape(text string, spare func(rest string) int) string {
	if strings.IndexFunc(text, hidden) < 0 && utf8.ValidString(text) {
		return text
	}
	var b strings.Builder
	for len(text) > 0 {
		r, size := utf8.DecodeRuneInString(text)
		invalid, kept := r == utf8.RuneError && size == 1, size
		if invalid || hidden(r) {
			kept = spare(text)
		}
		switch {
		case kept > 0:
			b.WriteString(text[:kept])
			size = kept
		case invalid:
			fmt.Fprintf(&b, `\x%02x`, text[0])
		default:
			b.WriteString(strings.Trim(strconv.QuoteRuneToGraphic(r), "'"))
		}
		text = text[size:]
	}
	return b.String()
}

// hidden reports whether a character must be escaped. The joiners stay: they are needed in emojis and in Indic scripts.
func hidden(r rune) bool {
	const joiner, nonJoiner = '\u200d', '\u200c'
	return r != '\t' && r != joiner && r != nonJoiner && !unicode.IsGraphic(r)
}
