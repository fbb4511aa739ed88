// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package display

import (
	"io"
	"slices"
	"strings"
)

// Fit says how the cells of a column are shortened if the table is wider than the terminal. The zero value is Whole.
type Fit int

const (
	// Whole is for states, ages and numbers, which are never shortened.
	Whole Fit = iota
	// Middle is for names, which keep their beginnings and ends.
	Middle
	// End is for messages, which keep their beginnings.
	End
	// Below is for messages that are needed whole: if a row is wider than the terminal, those of all rows stand below
	// their rows, and the column is left out.
	Below
)

// Column is a column of a table.
type Column struct {
	// Header is the title; a table without titles has no header.
	Header string
	// Fit says how cells are shortened. Defaults to Whole.
	Fit Fit
	// Right aligns cells to the right.
	Right bool
	// Spare means that the column is left out where the others would become too narrow to be of use. The last such
	// column goes first.
	Spare bool
}

// Cell is a text in a column.
type Cell struct {
	// Lead is the part before the text that is never shortened, such as the lines of a tree.
	Lead string
	// Text may be any text: the table shows what [Clean] makes of it.
	Text string
	// Paint colours the text after it was shortened; nil leaves it as it is.
	Paint func(text string) string
}

const (
	// columnGap is the number of blanks between columns.
	columnGap = 2
	// enough is the limit from which on lines are never wider than the limit.
	enough = 60
	// minColumn is the least width of a column that is shortened in a terminal in which that is not so, and minimum the
	// one in a terminal in which it is.
	minColumn, minimum = 10, 3
	// minName is the least width in which a name is shortened in its middle.
	minNameWidth = 4
	// usefulColumn is the width below which a shortened column is of little use: spare columns are left out for it.
	usefulColumn = 16
	// minWrap is the least width in which the lines between rows are wrapped.
	minWrap = 20
	// hanging is the indentation of all lines of a wrapped text but the first.
	hanging = "  "
)

// BelowIndent is the indentation of texts of a column that stand below their rows.
const BelowIndent = "    "

// Table aligns cells in columns. It is not safe for concurrent use.
//
// With a limit, columns that may be shortened share the cells that the others leave. All get the same number of cells,
// except that a column that needs fewer leaves the rest to the others, and that messages leave to names up to three
// fifths of these cells. With a limit of 60 cells or more, no line is wider unless the columns that are neither
// shortened nor spare are too wide themselves. With a lower one, columns stay readable. Without a limit, nothing is
// shortened or left out.
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

// NewTable returns an empty table. The limit is that of [Limit]; zero means that there is none.
func NewTable(limit int, columns ...Column) *Table { return &Table{columns: columns, limit: limit} }

// Add adds a row. Cells that are missing at its end are empty.
func (t *Table) Add(cells ...Cell) { t.rows = append(t.rows, tableRow{cells: cleaned(cells)}) }

// cleaned returns cells with texts that are safe to show.
func cleaned(cells []Cell) []Cell {
	cells = slices.Clone(cells)
	for i := range cells {
		cells[i].Text = Clean(cells[i].Text)
	}
	return cells
}

// AddTexts adds a row of cells without colours.
func (t *Table) AddTexts(texts ...string) {
	cells := make([]Cell, len(texts))
	for i, text := range texts {
		cells[i].Text = text
	}
	t.Add(cells...)
}

// AddBelow adds a text that is not in a column below the last row. It is wrapped between words, because its end is
// often what matters.
func (t *Table) AddBelow(text Cell) {
	t.rows = append(t.rows, tableRow{cells: cleaned([]Cell{text}), below: true})
}

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
	t = t.withTextsBelow()
	layout := t.Layout()
	var lines []string
	header := make([]Cell, len(t.columns))
	for i, column := range t.columns {
		header[i].Text = column.Header
	}
	if text, _ := layout.Line(header...); text != "" {
		lines = append(lines, text)
	}
	for _, row := range t.rows {
		if row.below {
			lines = append(lines, wrapBelow(row.cells[0], t.limit)...)
			continue
		}
		text, _ := layout.Line(row.cells...)
		lines = append(lines, text)
	}
	return lines
}

// withTextsBelow returns a table without the columns whose texts stand below the rows.
func (t *Table) withTextsBelow() *Table {
	isBelow := func(column Column) bool { return column.Fit == Below }
	width := -columnGap
	for _, natural := range t.natural() {
		if natural > 0 {
			width += natural + columnGap
		}
	}
	if t.limit <= 0 || width <= t.limit || !slices.ContainsFunc(t.columns, isBelow) {
		return t
	}
	narrow := NewTable(t.limit, slices.DeleteFunc(slices.Clone(t.columns), isBelow)...)
	for _, row := range t.rows {
		kept, below := tableRow{below: row.below}, []tableRow(nil)
		for i, cell := range row.cells {
			switch {
			case row.below || t.columns[i].Fit != Below:
				kept.cells = append(kept.cells, cell)
			case cell.Text != "":
				cell.Lead = BelowIndent
				below = append(below, tableRow{cells: []Cell{cell}, below: true})
			}
		}
		narrow.rows = append(append(narrow.rows, kept), below...)
	}
	return narrow
}

// Layout returns the widths of the columns for the rows that there are.
func (t *Table) Layout() *Layout {
	l := &Layout{table: t}
	natural := t.natural()
	for i, width := range natural {
		if width > 0 {
			l.shown = append(l.shown, i)
		}
	}
	for {
		level := l.share(natural)
		spare := l.lastSpare()
		if level >= usefulColumn || spare < 0 {
			return l
		}
		l.shown = append(l.shown[:spare:spare], l.shown[spare+1:]...)
	}
}

// natural returns the widths of the columns if nothing is shortened.
func (t *Table) natural() []int {
	widths := make([]int, len(t.columns))
	for i, column := range t.columns {
		widths[i] = Width(column.Header)
	}
	for _, row := range t.rows {
		if row.below {
			continue
		}
		for i, cell := range row.cells {
			widths[i] = max(widths[i], Width(cell.Lead)+Width(cell.Text))
		}
	}
	return widths
}

// Layout is how the columns of a table fit. Columns without a title and without texts are left out.
type Layout struct {
	table *Table
	// shown are the columns that are not left out, and widths their widths.
	shown, widths []int
}

// share sets the widths of the columns that are shown. It returns the width of the columns that have to be shortened,
// or usefulColumn if there are none.
func (l *Layout) share(natural []int) int {
	room := l.table.limit - columnGap*(len(l.shown)-1)
	var flexible []int
	l.widths = make([]int, len(l.shown))
	for i, at := range l.shown {
		l.widths[i] = natural[at]
		if l.table.columns[at].Fit == Whole {
			room -= natural[at]
		} else {
			flexible = append(flexible, i)
		}
	}
	if l.table.limit <= 0 {
		return usefulColumn
	}
	l.preferNames(flexible, room)
	for len(flexible) > 0 {
		level := max(room/len(flexible), l.least())
		var wide []int
		for _, i := range flexible {
			if l.widths[i] <= level {
				room -= l.widths[i]
			} else {
				wide = append(wide, i)
			}
		}
		if len(wide) == len(flexible) {
			for _, i := range wide {
				l.widths[i] = level
			}
			l.widths[wide[len(wide)-1]] += max(room-level*len(wide), 0)
			return level
		}
		flexible = wide
	}
	if room < 0 {
		return 0
	}
	return usefulColumn
}

// preferNames gives messages what names leave, but not less than two fifths of the room.
func (l *Layout) preferNames(flexible []int, room int) {
	names := 0
	for _, i := range flexible {
		if l.table.columns[l.shown[i]].Fit == Middle {
			names += l.widths[i]
		}
	}
	const part, parts = 2, 5
	for _, i := range flexible {
		if names > 0 && l.table.columns[l.shown[i]].Fit == End {
			l.widths[i] = min(l.widths[i], max(room-names, room*part/parts, l.least()))
		}
	}
}

// least returns the least width of a column.
func (l *Layout) least() int {
	if l.table.limit < enough {
		return minColumn
	}
	return minimum
}

// lastSpare returns the position of the last spare column that is shown, or -1.
func (l *Layout) lastSpare() int {
	for i := len(l.shown) - 1; i >= 0; i-- {
		if l.table.columns[l.shown[i]].Spare {
			return i
		}
	}
	return -1
}

// Line returns a row, which need not be one of the table, without blanks at its end. It also reports whether the last
// of the cells is shown whole.
func (l *Layout) Line(cells ...Cell) (line string, whole bool) {
	var b strings.Builder
	cells = cleaned(cells)
	blanks, last := 0, len(cells)-1
	whole = last < 0 || cells[last].Text == ""
	for i, at := range l.shown {
		if i > 0 {
			blanks += columnGap
		}
		var cell Cell
		if at < len(cells) {
			cell = cells[at]
		}
		column := l.table.columns[at]
		text := shorten(cell, column.Fit, l.widths[i])
		whole = whole || at == last && text == cell.Lead+cell.Text
		padding := max(l.widths[i]-Width(text), 0)
		if column.Right {
			blanks += padding
		}
		if text != "" {
			b.WriteString(strings.Repeat(" ", blanks))
			blanks = 0
			b.WriteString(paintBehind(text, cell))
		}
		if !column.Right {
			blanks += padding
		}
	}
	return b.String(), whole
}

// shorten returns the lead and the text of a cell, in that many cells of the terminal.
func shorten(cell Cell, fit Fit, width int) string {
	whole := cell.Lead + cell.Text
	lead := Width(cell.Lead)
	switch {
	case fit == Whole || lead+Width(cell.Text) <= width:
		return whole
	case fit == End || width-lead < minNameWidth:
		return Truncate(whole, width)
	default:
		return cell.Lead + Elide(cell.Text, width-lead)
	}
}

// paintBehind colours what follows the lead of a cell.
func paintBehind(shortened string, cell Cell) string {
	text, whole := strings.CutPrefix(shortened, cell.Lead)
	if cell.Paint == nil || !whole {
		return shortened
	}
	return cell.Lead + cell.Paint(text)
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
