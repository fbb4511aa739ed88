// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package terminal

import (
	"io"
	"os"

	"golang.org/x/term"
)

// What is assumed of a terminal that does not tell its size.
const (
	defaultColumns = 80
	defaultRows    = 24
)

// IsTerminal reports whether what is written there appears on a terminal.
func IsTerminal(out io.Writer) bool {
	fd, ok := descriptor(out)
	return ok && term.IsTerminal(fd)
}

// IsCapable reports whether what is written there appears on a terminal that understands colours and movements of its cursor.
func IsCapable(out io.Writer) bool {
	return IsTerminal(out) && os.Getenv("TERM") != "dumb"
}

// IsAttended reports whether what is written there may be redrawn, because somebody looks at it: it appears on a terminal that understands that, and
// the environment variable CI has no value other than false and 0.
func IsAttended(out io.Writer) bool { return IsCapable(out) && !unattended(os.Getenv("CI")) }

// unattended reads the variable by which systems for continuous integration make themselves known.
func unattended(ci string) bool {
	return ci != "" && ci != "0" && ci != "false"
}

// Size returns the current size of the terminal, or 80 x 24 if there is none or it does not know.
func Size(out io.Writer) (columns, rows int) {
	if fd, ok := descriptor(out); ok {
		if columns, rows, err := term.GetSize(fd); err == nil && columns > 0 && rows > 0 {
			return columns, rows
		}
	}
	return defaultColumns, defaultRows
}

func descriptor(out io.Writer) (int, bool) {
	file, ok := out.(interface{ Fd() uintptr })
	if !ok {
		return 0, false
	}
	return int(file.Fd()), true
}
