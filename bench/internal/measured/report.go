// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package measured

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"
	"unicode/utf8"
)

// A Report is all that is known after a run.
type Report struct {
	Date       time.Time `json:"date"`
	Commit     string    `json:"commit"`
	Go         string    `json:"go"`
	Kubernetes string    `json:"kubernetes"`
	Cores      int       `json:"cores"`
	Short      bool      `json:"short"`
	Repeats    int       `json:"repeats"`
	Figures    []Figure  `json:"figures"`
	// Failures are cases that could not be measured.
	Failures []failure `json:"failures,omitempty"`
}

// A failure is a case that could not be measured.
type failure struct {
	Case  string `json:"case"`
	Error string `json:"error"`
}

// NewReport returns a report without figures.
func NewReport(ctx context.Context, kubernetes string, repeats int, short bool) *Report {
	return &Report{
		Date:       time.Now().UTC().Truncate(time.Second),
		Commit:     commit(ctx),
		Go:         runtime.Version(),
		Kubernetes: kubernetes,
		Cores:      runtime.NumCPU(),
		Short:      short,
		Repeats:    repeats,
	}
}

// commit describes what is checked out; unknown outside of a repository.
func commit(ctx context.Context) string {
	out, err := exec.CommandContext(ctx, "git", "describe", "--always", "--dirty").Output()
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(out))
}

// Add takes the outcome of a case.
func (r *Report) Add(name string, figures []Figure, err error) {
	for _, f := range figures {
		f.Case = name
		r.Figures = append(r.Figures, f)
	}
	if err != nil {
		r.Failures = append(r.Failures, failure{Case: name, Error: err.Error()})
	}
}

// Missed returns the number of bars that were not reached.
func (r *Report) Missed() int {
	missed := 0
	for _, f := range r.Figures {
		if f.missed() {
			missed++
		}
	}
	return missed
}

// WriteJSON writes the report to a file.
func (r *Report) WriteJSON(path string) error {
	content, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding the report: %w", err)
	}
	if err := os.WriteFile(path, append(content, '\n'), 0o644); err != nil { //nolint:gosec // a report is no secret
		return fmt.Errorf("writing the report: %w", err)
	}
	return nil
}

// Print writes the report as a table in Markdown, which is readable as it is.
func (r *Report) Print(out io.Writer) {
	mode := fmt.Sprintf("medians of %d", r.Repeats)
	if r.Short {
		mode = "short run"
	}
	fmt.Fprintf(out, "%s, commit %s, %s, Kubernetes %s, %d cores, %s\n\n", r.Date.Format(time.RFC3339), r.Commit, r.Go, r.Kubernetes, r.Cores, mode)
	rows := [][]string{{"case", "figure", "value", "p99", "limit", "x limit", "bar", "note"}}
	for _, f := range r.Figures {
		rows = append(rows, f.cells())
	}
	printTable(out, rows)
	for _, f := range r.Failures {
		fmt.Fprintf(out, "\n%s: NOT MEASURED: %s\n", f.Case, f.Error)
	}
	fmt.Fprintf(out, "\n%d figures, %d bars missed, %d cases not measured\n", len(r.Figures), r.Missed(), len(r.Failures))
}

// printTable aligns the cells of rows, of which the first is the head.
func printTable(out io.Writer, rows [][]string) {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	line := func(cells []string) {
		for i, cell := range cells {
			fmt.Fprintf(out, "| %s%s ", cell, strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)))
		}
		fmt.Fprintln(out, "|")
	}
	line(rows[0])
	rule := make([]string, len(widths))
	for i, width := range widths {
		rule[i] = strings.Repeat("-", width)
	}
	line(rule)
	for _, row := range rows[1:] {
		line(row)
	}
}
