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
