// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"cmp"
	"fmt"
	"strings"
)

// Finding is something that needs a human.
type Finding struct {
	// File is relative to the project; empty if the finding is about the project as a whole.
	File string
	// Line counts from 1; 0 if the finding is about the whole file.
	Line int
	// What is wrong, or left.
	What string
	// Do is what to do about it.
	Do string
}

func (f Finding) compare(other Finding) int {
	return cmp.Or(cmp.Compare(f.File, other.File), cmp.Compare(f.Line, other.Line), cmp.Compare(f.What, other.What), cmp.Compare(f.Do, other.Do))
}

// String returns file, line, and what to do, as compilers do.
func (f Finding) String() string {
	place := cmp.Or(f.File, "project")
	if f.Line > 0 {
		place += fmt.Sprintf(":%d", f.Line)
	}
	return place + ": " + f.What + "\n    " + f.Do
}

// String lists all findings, and what was changed.
func (r Report) String() string {
	var text strings.Builder
	fmt.Fprintf(&text, "%d files changed, %d removed\n", len(r.Changed), len(r.Removed))
	for _, file := range r.Changed {
		fmt.Fprintln(&text, "  "+file)
	}
	for _, file := range r.Removed {
		fmt.Fprintln(&text, "  "+file+" (removed)")
	}
	if len(r.Findings) == 0 {
		fmt.Fprintln(&text, "Nothing is left to be done by hand.")
		return text.String()
	}
	fmt.Fprintln(&text, "To be done by hand:")
	for _, finding := range r.Findings {
		fmt.Fprintln(&text, "  "+strings.ReplaceAll(finding.String(), "\n", "\n  "))
	}
	return text.String()
}
