// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// waitForFile waits until the file is there, with content if it is meant to have some, and returns the content.
func waitForFile(t *testing.T, path string) string {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if content, err := os.ReadFile(path); err == nil {
			return string(content)
		}
	}
	t.Fatalf("%s has not been written", path)
	return ""
}

// guardedShell returns a guarded shell that runs the script in a folder of its own.
func guardedShell(t *testing.T, line *lifeline, remove, script string) *exec.Cmd {
	t.Helper()
	assets, err := Assets(t.Context(), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	command := line.guarded(filepath.Join(assets, programGuard), remove, []string{"sh", "-c", script})
	command.Dir = t.TempDir()
	command.Stderr = os.Stderr
	return command
}

func newTestLifeline(t *testing.T) *lifeline {
	t.Helper()
	line, err := newLifeline()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(line.close)
	return line
}

func TestGuardExitCodes(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		reason, script string
		want           int
	}{
		{reason: "success", script: "exit 0", want: 0},
		{reason: "the command's own code", script: "exit 42", want: 42},
		{reason: "a signal", script: "kill -KILL $$", want: 128 + 9},
		{reason: "what a shell says of a missing command", script: "exec /nonexistent", want: 127},
	} {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			command := guardedShell(t, newTestLifeline(t), "", test.script)
			err := command.Run()
			var exit *exec.ExitError
			if err != nil && !errors.As(err, &exit) {
				t.Fatal(err)
			}
			if got := command.ProcessState.ExitCode(); got != test.want {
				t.Errorf("got exit code %d, want %d", got, test.want)
			}
		})
	}
}

func TestGuardEndsTheGroupWithTheLifeline(t *testing.T) {
	t.Parallel()
	line, remove := newTestLifeline(t), t.TempDir()
	// Neither the command nor its child can be asked to end.
	command := guardedShell(t, line, remove, `trap "" TERM INT HUP; sleep 600 & echo $$ $! >all.tmp; mv all.tmp all; wait`)
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	processes := waitForFile(t, filepath.Join(command.Dir, "all"))
	line.close()
	_ = command.Wait()
	for _, process := range strings.Fields(processes) {
		expectDead(t, process)
	}
	if _, err := os.Stat(remove); !os.IsNotExist(err) {
		t.Errorf("the folder that was to be removed is still there (%v)", err)
	}
}

func TestGuardPassesSignalsOn(t *testing.T) {
	t.Parallel()
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		t.Run(signal.String(), func(t *testing.T) {
			t.Parallel()
			remove := t.TempDir()
			command := guardedShell(t, newTestLifeline(t), remove, `for s in INT TERM HUP; do trap "echo $s >got; exit 5" $s; done; touch ready; while :; do sleep 0.01; done`)
			if err := command.Start(); err != nil {
				t.Fatal(err)
			}
			waitForFile(t, filepath.Join(command.Dir, "ready"))
			if err := command.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			_ = command.Wait()
			if code := command.ProcessState.ExitCode(); code != 5 {
				t.Errorf("got exit code %d, want that of the signal handler", code)
			}
			if _, err := os.Stat(remove); err != nil {
				t.Errorf("a folder was removed although the lifeline has held: %v", err)
			}
		})
	}
}

// expectDead waits until there is no process of that number, or only its remains.
func expectDead(t *testing.T, process string) {
	t.Helper()
	process = strings.TrimSpace(process)
	state := ""
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		// ps fails if there is no such process.
		output, err := exec.Command("ps", "-o", "stat=", "-p", process).Output()
		if state = strings.TrimSpace(string(output)); err != nil || state == "" || strings.HasPrefix(state, "Z") {
			return
		}
	}
	t.Errorf("process %s is still in state %s", process, state)
}
