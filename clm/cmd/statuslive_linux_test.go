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
	"github.com/hinshun/vt10x"
	"golang.org/x/sys/unix"

	"github.com/component-operator/runtime/internal/testenv"
)

const columns, rows = 90, 16

// picture is what a person sees on the terminal now.
func (s *typist) picture() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	screen := vt10x.New(vt10x.WithSize(columns, rows))
	_, _ = screen.Write(s.screen.Bytes())
	lines := strings.Split(screen.String(), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " ")
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n")
}

// onATerminal runs clm as a process on a terminal.
func (p *place) onATerminal(args ...string) (*typist, *exec.Cmd) {
	p.Helper()
	screen, device := newTerminal(p.T)
	if err := unix.IoctlSetWinsize(int(device.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: rows, Col: columns}); err != nil {
		p.Fatal(err)
	}
	h := &home{environment: append(os.Environ(), clmVariable+"=1", "CI=", "TERM=xterm", "NO_COLOR=")}
	command := h.command(p.T, append(args, "--kubeconfig", p.kubeconfig, "--namespace", p.namespace)...)
	command.Stdin, command.Stdout, command.Stderr = device, device, device
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := command.Start(); err != nil {
		p.Fatal(err)
	}
	p.Cleanup(func() { _ = command.Process.Kill() })
	return screen, command
}

// wrappedPattern matches where a reason was wrapped, which depends on the length of names.
var wrappedPattern = regexp.MustCompile(`\n {5}(\S)`)

// shows waits until the picture is the wanted one, without what differs from run to run.
func (p *place) shows(screen *typist, want string) {
	p.Helper()
	testenv.Eventually(p, func() (bool, string) {
		got := strings.ReplaceAll(screen.picture(), p.namespace, "PLACE")
		got = wrappedPattern.ReplaceAllString(got, " $1")
		got = filePattern.ReplaceAllString(got, "$1")
		got = agePattern.ReplaceAllString(spacePattern.ReplaceAllString(got, "$1  "), "AGE")
		got = holderPattern.ReplaceAllString(randomPattern.ReplaceAllString(got, "$1-#"), "SOMEBODY")
		diff := cmp.Diff(strings.TrimSpace(want), got)
		return diff == "", "(-want +got):\n" + diff
	})
}

func TestStatusOnATerminal(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	applied := p.begin("apply", "web", p.file("app.yaml", configMap("a", "1")+deployment("web", neverReady, "")))
	p.eventuallyShows([]string{"status", "web"}, "1 not ready", "running, but not ready")
	screen, command := p.onATerminal("status", "web", "--watch")
	p.shows(screen, `
Release:  PLACE/web
State:  Applying (for AGE)
            SOMEBODY has been working on it for AGE; its lock lasts another AGE
Revision:  1, applied AGE ago
Sources:  manifests app.yaml
Waves:  0  ✓ 1 ready  ▸ 1 not ready

OBJECT  STATUS  AGE  MESSAGE
Deployment web  InProgress  AGE  0/1 replicas available
   Pod web-#: container main: running, but not ready (since AGE)`)
	p.cannotPull("web")
	p.shows(screen, `
Release:  PLACE/web
State:  Applying (for AGE)
            SOMEBODY has been working on it for AGE; its lock lasts another AGE
Revision:  1, applied AGE ago
Sources:  manifests app.yaml
Waves:  0  ✓ 1 ready  ▸ 1 not ready

OBJECT  STATUS  AGE  MESSAGE
Deployment web  InProgress  AGE  0/1 replicas available
   Pod web-#: container main: ImagePullBackOff of example.com/web:1: Back-off pulling image: not found (since AGE)`)
	applied.interrupt()
	<-applied.ended
	p.must("apply", "web", p.file("app.yaml", configMap("a", "1")+deployment("web", "", "")))
	if err := command.Wait(); err != nil {
		t.Errorf("it should have ended by itself when the release was ready, got %v", err)
	}
	p.shows(screen, `
Release:  PLACE/web
State:  Ready (for AGE)
Revision:  2, applied AGE ago
Sources:  manifests app.yaml
Waves:  0  ✓ 2 ready`)
}

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
