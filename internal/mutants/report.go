// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// line is the row of a result in the table.
func (r result) line() string {
	detail := r.detail
	if r.verdict == survived && r.Why != "" {
		detail = r.Why
	}
	return strings.TrimRight(fmt.Sprintf("%-16s %5.1fs  %-45s %-40s %s", r.verdict, r.took.Seconds(), r.Name, r.File, detail), " ")
}

// listed prints the list and returns the exit code: 1 if an entry does not fit the code.
func listed(out io.Writer, results []result) int {
	misfits := 0
	for _, r := range results {
		text := fmt.Sprintf("%-16s %-45s %-40s %s", r.verdict, r.Name, r.File, r.Run)
		if r.verdict != fits {
			misfits++
			text = fmt.Sprintf("%-16s %-45s %s", r.verdict, r.Name, r.detail)
		}
		fmt.Fprintln(out, text)
	}
	fmt.Fprintf(out, "\n%d mutants, %d do not fit the code\n", len(results), misfits)
	return min(misfits, 1)
}

// score prints how many mutants were noticed, repeats the others, and returns the exit code.
func score(out io.Writer, results []result, least float64) int {
	count, took := 0, time.Duration(0)
	var others []result
	for _, r := range results {
		took += r.took
		if r.verdict == noticed {
			count++
		} else {
			others = append(others, r)
		}
	}
	percent := 100 * float64(count) / float64(len(results))
	fmt.Fprintf(out, "\n%d of %d noticed (%.1f %%; demanded are %g %%) in %s\n", count, len(results), percent, least, took.Round(time.Second))
	for _, r := range others {
		fmt.Fprintln(out, r.line())
	}
	if percent < least {
		return 1
	}
	return 0
}
