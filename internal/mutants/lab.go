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
	"strings"
	"time"
)

// The verdicts about a mutant.
const (
	noticed     = "noticed"          // a test fails
	survived    = "SURVIVED"         // all tests pass
	uncompiled  = "DOES NOT COMPILE" // the entry must be corrected
	misfit      = "DOES NOT FIT"     // likewise: the code has changed
	untested    = "NO SUCH TEST"     // likewise
	failing     = "FAILS ANYWAY"     // the tests also fail without the change
	unavailable = "NOT RUN"          // the go command could not be run
)

// lab runs tests.
type lab struct{ log io.Writer }

// try makes a mutant, runs its tests, and returns a verdict with details.
func (l *lab) try(ctx context.Context, m mutant) (verdict, detail string) {
	file, content, err := m.apply()
	if err != nil {
		return misfit, err.Error()
	}
	folder, err := os.MkdirTemp("", "mutant-")
	if err != nil {
		return unavailable, err.Error()
	}
	defer func() { _ = os.RemoveAll(folder) }() // remains are in the folder for temporary files
	overlay, err := writeOverlay(folder, file, content)
	if err != nil {
		return unavailable, err.Error()
	}
	output, err := l.test(ctx, m.target(), m.Tests, impatience, "-overlay", overlay, "-failfast")
	return judge(strings.ReplaceAll(output, folder+string(filepath.Separator), ""), err)
}

// writeOverlay writes the changed file, and the overlay that makes the go command read it instead of the original.
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

// baseline runs the tests of all mutants on the unchanged code, and returns the packages whose tests fail.
func (l *lab) baseline(ctx context.Context, chosen []mutant) map[string]bool {
	filters := map[string][]string{}
	for _, m := range chosen {
		filters[m.target()] = append(filters[m.target()], m.Tests)
	}
	broken := map[string]bool{}
	for target, tests := range filters {
		_, err := l.test(ctx, target, strings.Join(tests, "|"), "")
		broken[target] = err != nil
	}
	return broken
}

// impatience shortens how long tests wait (see internal/testenv): the tests of a mutant are expected to wait in vain.
const impatience = "TEST_PATIENCE=20s"

// test runs tests of a package, with a further environment variable unless it is empty, and returns their output.
func (l *lab) test(ctx context.Context, target, filter, variable string, flags ...string) (string, error) {
	args := append([]string{"test", "-count=1", "-vet=off", "-timeout", "5m", "-run", filter}, flags...)
	command := exec.CommandContext(ctx, "go", append(args, target)...)
	// An interrupted go command also ends the test binary; a killed one does not.
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	command.WaitDelay = 30 * time.Second
	if variable != "" {
		command.Env = append(os.Environ(), variable)
	}
	var output bytes.Buffer
	command.Stdout = io.MultiWriter(&output, l.log)
	command.Stderr = command.Stdout
	err := command.Run()
	return output.String(), err
}

var (
	failedTest = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)
	message    = regexp.MustCompile(`(?m)^[^#\s].*`)
)

// judge reads the output of "go test".
func judge(output string, err error) (verdict, detail string) {
	switch {
	case strings.Contains(output, "[build failed]"), strings.Contains(output, "[setup failed]"):
		return uncompiled, message.FindString(output)
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
