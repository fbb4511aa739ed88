// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package main

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

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
)

// report has the figures of a run.
type report struct {
	Date       time.Time `json:"date"`
	Commit     string    `json:"commit"`
	Go         string    `json:"go"`
	Kubernetes string    `json:"kubernetes"`
	Cores      int       `json:"cores"`
	Short      bool      `json:"short"`
	Repeats    int       `json:"repeats"`
	Figures    []figure  `json:"figures"`
	// Failures are cases that could not be measured.
	Failures []failure `json:"failures,omitempty"`
}

type failure struct {
	Case  string `json:"case"`
	Error string `json:"error"`
}

func newReport(ctx context.Context, config *rest.Config, o options) (*report, error) {
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("asking for the version of Kubernetes: %w", err)
	}
	version, err := client.ServerVersion()
	if err != nil {
		return nil, fmt.Errorf("asking for the version of Kubernetes: %w", err)
	}
	commit, err := exec.CommandContext(ctx, "git", "describe", "--always", "--dirty").Output()
	if err != nil {
		commit = []byte("unknown")
	}
	return &report{
		Date: time.Now().UTC().Truncate(time.Second), Commit: strings.TrimSpace(string(commit)), Go: runtime.Version(),
		Kubernetes: version.GitVersion, Cores: runtime.NumCPU(), Short: o.short, Repeats: o.repeats,
	}, nil
}

// add adds the figures of a case.
func (r *report) add(name string, figures []figure, err error) {
	for _, f := range figures {
		f.Case = name
		r.Figures = append(r.Figures, f)
	}
	if err != nil {
		r.Failures = append(r.Failures, failure{Case: name, Error: err.Error()})
	}
}

// missed returns the number of bars that were missed.
func (r *report) missed() int {
	missed := 0
	for _, f := range r.Figures {
		if f.Bar != nil && !f.Bar.Met {
			missed++
		}
	}
	return missed
}

func (r *report) writeJSON(path string) error {
	content, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding the report: %w", err)
	}
	if err := os.WriteFile(path, append(content, '\n'), 0o644); err != nil { //nolint:gosec // a report is no secret
		return fmt.Errorf("writing the report: %w", err)
	}
	return nil
}

// print prints the table.
func (r *report) print(out io.Writer) {
	mode := fmt.Sprintf("medians of %d", r.Repeats)
	if r.Short {
		mode = "short run"
	}
	fmt.Fprintf(out, "%s, commit %s, %s, Kubernetes %s, %d cores, %s\n\n", r.Date.Format(time.RFC3339), r.Commit, r.Go, r.Kubernetes, r.Cores, mode)
	rows := [][]string{{"case", "figure", "value", "p99", "limit", "x limit", "bar", "note"}, make([]string, 8)}
	for _, f := range r.Figures {
		rows = append(rows, f.cells())
	}
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for i, width := range widths {
		rows[1][i] = strings.Repeat("-", width)
	}
	for _, row := range rows {
		for i, cell := range row {
			fmt.Fprintf(out, "| %s%s ", cell, strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)))
		}
		fmt.Fprintln(out, "|")
	}
	for _, f := range r.Failures {
		fmt.Fprintf(out, "\n%s: NOT MEASURED: %s\n", f.Case, f.Error)
	}
	fmt.Fprintf(out, "\n%d figures, %d bars missed, %d cases not measured\n", len(r.Figures), r.missed(), len(r.Failures))
}
