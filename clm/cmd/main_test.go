// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/sandbox"
)

// clmVariable makes the test program behave as clm, so that tests can run, signal and kill it as a process.
const clmVariable = "CLM_TEST_MAIN"

// patienceVariable is how long such a process may be silent. By default, it is silent even on a slow machine.
const patienceVariable = "CLM_TEST_PATIENCE"

func TestMain(m *testing.M) {
	if os.Getenv(clmVariable) != "" {
		patience, _ = time.ParseDuration(os.Getenv(patienceVariable))
		os.Exit(Main(os.Args))
	}
	silenceLibraries()
	os.Exit(m.Run())
}

// home is a cache directory with built programs but nothing else in it, so that tests neither see nor disturb what the
// user runs.
type home struct {
	environment []string
}

func newHome(t *testing.T) *home {
	t.Helper()
	if testing.Short() {
		t.Skip("this test starts sandboxes, and -short leaves such tests out")
	}
	assets, err := sandbox.Assets(t.Context(), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	h := &home{environment: append(os.Environ(), clmVariable+"=1", "KUBEBUILDER_ASSETS="+assets, "HOME="+dir, "XDG_CACHE_HOME="+dir)}
	t.Cleanup(func() {
		if result := h.clm(t, "sandbox", "down", "--all"); result.code != 0 {
			t.Errorf("cleaning up: %s", result.stderr)
		}
	})
	return h
}

// result is how a run of clm ended.
type result struct {
	code           int
	stdout, stderr string
}

func (h *home) command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	command := exec.Command(os.Args[0], args...)
	command.Env = h.environment
	return command
}

func (h *home) clm(t *testing.T, args ...string) result {
	t.Helper()
	command := h.command(t, args...)
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	if err := command.Run(); command.ProcessState == nil {
		t.Fatal(err)
	}
	return result{code: command.ProcessState.ExitCode(), stdout: stdout.String(), stderr: stderr.String()}
}

// processes returns the lines of ps that mention the text, without the remains of dead processes.
func processes(t *testing.T, text string) []string {
	t.Helper()
	output, err := exec.Command("ps", "-A", "-ww", "-o", "stat=,pid=,args=").Output()
	if err != nil {
		t.Fatalf("listing processes: %v", err)
	}
	var found []string
	for line := range strings.Lines(string(output)) {
		if strings.Contains(line, text) && !strings.HasPrefix(line, "Z") {
			found = append(found, strings.TrimSpace(line))
		}
	}
	return found
}

func expectNoProcess(t *testing.T, text string) {
	t.Helper()
	testenv.Eventually(t, func() (bool, string) {
		left := processes(t, text)
		return len(left) == 0, "still running:\n" + strings.Join(left, "\n")
	})
}

// waitForFile waits for a file that is put in place at once, and returns its content.
func waitForFile(t *testing.T, path string) string {
	t.Helper()
	var content []byte
	testenv.Eventually(t, func() (bool, string) {
		var err error
		content, err = os.ReadFile(path)
		return err == nil, fmt.Sprint(err)
	})
	return string(content)
}

// marker returns a text that no other process has in its command line.
func marker(t *testing.T) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "marker")
}
