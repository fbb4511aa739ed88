// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// verdict is what has become of a mutant.
type verdict string

const (
	noticed     verdict = "noticed"          // a test fails
	survived    verdict = "SURVIVED"         // all tests pass
	uncompiled  verdict = "DOES NOT COMPILE" // the list is to be corrected
	mismatched  verdict = "TEXT NOT FOUND"   // likewise
	untested    verdict = "NO SUCH TEST"     // likewise
	failing     verdict = "FAILS ANYWAY"     // the tests fail without the change, too
	fits        verdict = "fits"             // the text is there; nothing was run
	unavailable verdict = "NOT RUN"          // the go command could not be run
)

// result is what was found out about a mutant.
type result struct {
	mutant
	verdict verdict
	detail  string
	took    time.Duration
}

// lab runs tests.
type lab struct {
	race    bool
	timeout time.Duration
	log     io.Writer
}

// check reports whether a mutant can be made of the code as it is.
func (l *lab) check(m mutant) result {
	if _, err := m.apply(); err != nil {
		return result{mutant: m, verdict: mismatched, detail: err.Error()}
	}
	return result{mutant: m, verdict: fits}
}

// try makes a mutant and runs the tests that are to notice it.
func (l *lab) try(ctx context.Context, m mutant) result {
	start := time.Now()
	r := result{mutant: m}
	content, err := m.apply()
	if err != nil {
		r.verdict, r.detail = mismatched, err.Error()
		return r
	}
	folder, err := os.MkdirTemp("", "mutant-")
	if err != nil {
		r.verdict, r.detail = unavailable, err.Error()
		return r
	}
	defer func() { _ = os.RemoveAll(folder) }() // what stays is in the folder for temporary files
	overlay, err := writeOverlay(folder, m.File, content)
	if err != nil {
		r.verdict, r.detail = unavailable, err.Error()
		return r
	}
	output, err := l.test(ctx, m.target(), m.Run, impatience, "-overlay", overlay, "-failfast")
	r.verdict, r.detail = judge(strings.ReplaceAll(output, folder+string(filepath.Separator), ""), err)
	r.took = time.Since(start)
	return r
}

// writeOverlay writes the changed file, and what tells the go command to read it instead of the original.
func writeOverlay(folder, file string, content []byte) (string, error) {
	original, err := filepath.Abs(file)
	if err != nil {
		return "", fmt.Errorf("finding %s: %w", file, err)
	}
	changed := filepath.Join(folder, filepath.Base(file))
	encoded, err := json.Marshal(map[string]map[string]string{"Replace": {original: changed}})
	if err != nil {
		return "", fmt.Errorf("encoding the overlay: %w", err)
	}
	overlay := filepath.Join(folder, "overlay.json")
	for name, data := range map[string][]byte{changed: content, overlay: encoded} {
		if err := os.WriteFile(name, data, 0o600); err != nil {
			return "", fmt.Errorf("writing the change: %w", err)
		}
	}
	return overlay, nil
}

// baseline runs the tests of all mutants on the code as it is, and returns the packages whose tests fail.
func (l *lab) baseline(ctx context.Context, chosen []mutant) (map[string]bool, error) {
	filters := map[string][]string{}
	for _, m := range chosen {
		if known := filters[m.target()]; !slices.Contains(known, m.Run) {
			filters[m.target()] = append(known, m.Run)
		}
	}
	broken := map[string]bool{}
	for target, runs := range filters {
		output, err := l.test(ctx, target, strings.Join(runs, "|"), "")
		if ctx.Err() != nil {
			return nil, fmt.Errorf("testing %s without a change: %w", target, ctx.Err())
		}
		if err != nil {
			broken[target] = true
			fmt.Fprintf(l.log, "%s fails without a change:\n%s\n", target, output)
		}
	}
	return broken, nil
}

// impatience shortens what tests wait for (see internal/testenv), because the tests of a mutant are expected to wait in vain.
const impatience = "TEST_PATIENCE=20s"

// test runs tests of a package, with a further environment variable unless it is empty, and returns what they print.
func (l *lab) test(ctx context.Context, target, filter, variable string, flags ...string) (string, error) {
	args := append([]string{"test", "-count=1", "-vet=off", "-timeout", l.timeout.String(), "-run", filter}, flags...)
	if l.race {
		args = append(args, "-race")
	}
	command := exec.CommandContext(ctx, "go", append(args, target)...)
	// The test binary is to end, too, which a killed go command does not see to.
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	if variable != "" {
		command.Env = append(os.Environ(), variable)
	}
	command.WaitDelay = 30 * time.Second
	var output bytes.Buffer
	command.Stdout = io.MultiWriter(&output, l.log)
	command.Stderr = command.Stdout
	err := command.Run()
	return output.String(), err
}

var failedTest = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)

// judge reads the output of "go test".
func judge(output string, err error) (verdict, string) {
	switch {
	case strings.Contains(output, "[build failed]"), strings.Contains(output, "[setup failed]"):
		return uncompiled, firstLine(output)
	case err == nil && strings.Contains(output, "[no tests to run]"):
		return untested, ""
	case err == nil:
		return survived, ""
	case strings.Contains(output, "panic: test timed out"):
		return noticed, "timeout"
	}
	if failed := failedTest.FindStringSubmatch(output); failed != nil {
		return noticed, failed[1]
	}
	if strings.Contains(output, "FAIL") {
		return noticed, "panic"
	}
	return unavailable, err.Error()
}

// firstLine returns the first line that says something about the code.
func firstLine(output string) string {
	for line := range strings.Lines(output) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			return line
		}
	}
	return ""
}
