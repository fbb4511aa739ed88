// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/hinshun/vt10x"
	"golang.org/x/sys/unix"

	"github.com/component-operator/runtime/internal/testenv"
)

// typist is the side of a pseudo terminal on which people sit.
type typist struct {
	keyboard *os.File
	mu       sync.Mutex
	screen   bytes.Buffer
	emulator vt10x.Terminal
	// closed is closed when everything was read that programs have written, and all of them have ended.
	closed chan struct{}
}

// newTerminal returns a terminal and the file that programs take for it.
func newTerminal(t *testing.T) (*typist, *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = master.Close() })
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	device, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = device.Close() })
	result := &typist{keyboard: master, emulator: vt10x.New(), closed: make(chan struct{})}
	result.resize(t, 100, 40)
	go result.watch()
	return result, device
}

// watch reads until the terminal is closed.
func (s *typist) watch() {
	defer close(s.closed)
	buffer := make([]byte, 4096)
	for {
		n, err := s.keyboard.Read(buffer)
		s.mu.Lock()
		s.screen.Write(buffer[:n])
		_, _ = s.emulator.Write(buffer[:n])
		s.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// resize changes the size of the window, of which the program in it is told.
func (s *typist) resize(t *testing.T, columns, rows uint16) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := unix.IoctlSetWinsize(int(s.keyboard.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Col: columns, Row: rows}); err != nil {
		t.Fatal(err)
	}
	s.emulator.Resize(int(columns), int(rows))
}

// frame is what is seen at the moment, without blanks at the ends of lines and empty lines at the end.
func (s *typist) frame() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var lines []string
	for line := range strings.Lines(s.emulator.String()) {
		lines = append(lines, strings.TrimRight(line, " \n"))
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n") + "\n"
}

// sent is all that programs have written.
func (s *typist) sent() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.screen.String()
}

func (s *typist) expect(t *testing.T, text string) {
	t.Helper()
	testenv.Eventually(t, func() (bool, string) {
		s.mu.Lock()
		defer s.mu.Unlock()
		return strings.Contains(s.screen.String(), text), fmt.Sprintf("%q is not on the screen:\n%s", text, &s.screen)
	})
}

func (s *typist) enter(t *testing.T, text string) {
	t.Helper()
	if _, err := s.keyboard.WriteString(text); err != nil {
		t.Fatal(err)
	}
}

// TestManifestsOnATerminal: manifests are exact for programs, and cannot control a terminal.
func TestManifestsOnATerminal(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "a.yaml")
	const text = "a\u202eb"
	if err := os.WriteFile(file, []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {x: "+text+"}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"template", "web", file, "--kubeconfig", os.DevNull}
	var exact bytes.Buffer
	if code := run(t.Context(), streams{in: strings.NewReader(""), out: &exact, err: &exact}, args); code != 0 || !strings.Contains(exact.String(), "x: "+text+"\n") {
		t.Errorf("want exact output, got %d, %q", code, exact.String())
	}
	screen, device := newTerminal(t)
	if code := run(t.Context(), streams{in: strings.NewReader(""), out: device, err: device}, args); code != 0 {
		t.Errorf("got %d", code)
	}
	if err := device.Close(); err != nil {
		t.Fatal(err)
	}
	<-screen.closed
	if got := screen.sent(); !strings.Contains(got, `x: a\u202eb`) || strings.Contains(got, text) {
		t.Errorf("want safe output, got %q", got)
	}
}
