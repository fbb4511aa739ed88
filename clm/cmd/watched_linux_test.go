// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/component-operator/runtime/internal/testenv"
)

// startOnTerminal starts clm in a new terminal, with further variables in its environment.
func (p *place) startOnTerminal(t *testing.T, environment []string, args ...string) (*exec.Cmd, *typist) {
	t.Helper()
	screen, device := newTerminal(t)
	return p.startOn(t, device, environment, args...), screen
}

// startOn starts clm in a terminal.
func (p *place) startOn(t *testing.T, device *os.File, environment []string, args ...string) *exec.Cmd {
	t.Helper()
	command := p.process(args...)
	command.Env = append(append(command.Env, "TERM=xterm", "CI=", "NO_COLOR="), environment...)
	command.Stdin, command.Stdout, command.Stderr = device, device, device
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	_ = device.Close()
	t.Cleanup(func() {
		if command.ProcessState == nil {
			_ = command.Process.Kill()
			_ = command.Wait()
		}
	})
	return command
}

var ages = regexp.MustCompile(`\b[0-9]+s\b`)

// expectFrame waits until the screen shows the text, in which PLACE stands for the namespace and AGE for any number of
// seconds.
func (p *place) expectFrame(t *testing.T, screen *typist, reason, want string) {
	t.Helper()
	want = strings.TrimPrefix(want, "\n")
	testenv.Eventually(t, func() (bool, string) {
		got := strings.ReplaceAll(screen.frame(), p.namespace, "PLACE")
		got = ages.ReplaceAllString(strings.ReplaceAll(got, p.kubeconfig, "KUBECONFIG"), "AGE")
		_, got, _ = strings.Cut(got, "[y/N] ")
		diff := cmp.Diff(want, got)
		return diff == "", reason + " (-want +got):\n" + diff
	})
}

func expectExit(t *testing.T, command *exec.Cmd, screen *typist, code int) {
	t.Helper()
	_ = command.Wait()
	if got := command.ProcessState.ExitCode(); got != code {
		t.Errorf("want exit code %d, got %s:\n%s", code, command.ProcessState, screen.frame())
	}
}

func TestApplyOnATerminal(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	source := p.gated("1")
	command, screen := p.startOnTerminal(t, nil, "apply", "web", source)
	screen.expect(t, inContext(t, "Create release "+p.namespace+"/web?")+" [y/N] ")
	screen.expect(t, "3 to create")
	screen.enter(t, "n\n")
	expectExit(t, command, screen, exitRefused)
	screen.expect(t, "not confirmed; nothing was changed")
	if got := p.must("ls"); got.stdout != "" || p.locked("web") {
		t.Errorf("something was done: %s", got.stdout)
	}

	command, screen = p.startOnTerminal(t, nil, "apply", "web", source)
	screen.expect(t, "[y/N] ")
	screen.enter(t, "y\n")
	p.expectFrame(t, screen, "what is awaited has a line, what is done and what is to come is counted", `
y
apply PLACE/web revision 1: waiting until wave 0 is ready  AGE
  wave -1  ✓ 1 done
  wave 0   ▸ 1 in progress
    ▸ Service gate  creating  AGE  condition Open is missing
  wave 1   · 1 pending
`)
	screen.resize(t, 40, 40)
	testenv.Eventually(t, func() (bool, string) {
		frame := screen.frame()
		return strings.Count(frame, "in progress") == 1 && strings.Contains(frame, "…\n"), "want the lines to be cut:\n" + frame
	})
	screen.resize(t, 120, 40)
	testenv.Eventually(t, func() (bool, string) {
		frame := screen.frame()
		return strings.Count(frame, "in progress") == 1 && strings.Contains(frame, "condition Open is missing"), "want the lines not to be cut:\n" + frame
	})
	p.openGate()
	expectExit(t, command, screen, 0)
	screen.expect(t, "revision 1, is ready")
	screen.expect(t, "(3 created, ")
	if frame := screen.frame(); strings.Contains(frame, "in progress") || strings.Contains(frame, "applying") {
		t.Errorf("want the view to give way to the summary:\n%s", frame)
	}
	if !strings.Contains(screen.sent(), "\x1b[32m") {
		t.Errorf("want colours:\n%q", screen.sent())
	}

	command, screen = p.startOnTerminal(t, nil, "delete", "web")
	screen.expect(t, " objects will be deleted:")
	screen.expect(t, inContext(t, "Delete release "+p.namespace+"/web?")+" [y/N] ")
	screen.enter(t, "\x03")
	expectExit(t, command, screen, exitInterrupted)
	p.expectHistory("Ready")
	command, screen = p.startOnTerminal(t, nil, "delete", "web", "--yes")
	expectExit(t, command, screen, 0)
}
