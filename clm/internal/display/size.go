// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package display

import (
	"io"
	"os"

	"golang.org/x/term"
)

// The size of a terminal that does not report one.
const (
	defaultColumns = 80
	defaultRows    = 24
)

// IsTerminal reports whether the writer is a terminal.
func IsTerminal(out io.Writer) bool {
	fd, ok := descriptor(out)
	return ok && term.IsTerminal(fd)
}

// IsCapable reports whether the writer is a terminal that supports colours and cursor movements.
func IsCapable(out io.Writer) bool {
	return IsTerminal(out) && os.Getenv("TERM") != "dumb"
}

// IsAttended reports whether a user watches the output, so that it may be redrawn: the writer is a capable terminal,
// and the environment variable CI is unset, false or 0.
func IsAttended(out io.Writer) bool { return IsCapable(out) && !unattended(os.Getenv("CI")) }

// unattended interprets the variable that systems for continuous integration set.
func unattended(ci string) bool {
	return ci != "" && ci != "0" && ci != "false"
}

// Size returns the current size of the terminal, or 80 x 24 if there is none or it does not report a size.
func Size(out io.Writer) (columns, rows int) {
	if fd, ok := descriptor(out); ok {
		if columns, rows, err := term.GetSize(fd); err == nil && columns > 0 && rows > 0 {
			return columns, rows
		}
	}
	return defaultColumns, defaultRows
}

// Limit returns the number of cells that a line may occupy on the writer: the columns of a terminal, or zero, which
// means no limit, for everything else, so that programs and logs get full texts.
func Limit(out io.Writer) int {
	if dialog, isDialog := out.(*Dialog); isDialog {
		out = dialog.Writer
	}
	if !IsTerminal(out) {
		return 0
	}
	columns, _ := Size(out)
	return columns
}

func descriptor(out io.Writer) (int, bool) {
	file, ok := out.(interface{ Fd() uintptr })
	if !ok {
		return 0, false
	}
	return int(file.Fd()), true
}
