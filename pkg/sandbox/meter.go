// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"
)

// How often the meter updates its display: on a terminal, where it rewrites one line, and elsewhere, where it adds a line.
const (
	terminalInterval = 200 * time.Millisecond
	plainInterval    = 15 * time.Second
)

// buildTail is the number of output lines shown of a failed build.
const buildTail = 30

// meter shows the progress of a build by counting the packages that the go command starts to compile. It shows no percentage, because
// the total is unknown: the go command does not report packages that it has cached.
type meter struct {
	output   io.Writer
	title    string
	terminal bool
	started  time.Time
	done     chan struct{}
	finished sync.WaitGroup

	mu         sync.Mutex
	current    string
	downloaded int
	compiled   int
}

func newMeter(output io.Writer, title string) *meter {
	m := &meter{output: output, title: title, started: time.Now(), done: make(chan struct{})}
	if file, ok := output.(*os.File); ok {
		m.terminal = term.IsTerminal(int(file.Fd()))
	}
	m.show()
	m.finished.Go(m.loop)
	return m
}

// stop ends the display with a last line.
func (m *meter) stop() {
	close(m.done)
	m.finished.Wait()
	m.show()
	if m.terminal {
		_, _ = fmt.Fprintln(m.output)
	}
}

func (m *meter) loop() {
	interval := plainInterval
	if m.terminal {
		interval = terminalInterval
	}
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-m.done:
			return
		case <-ticker.C:
			m.show()
		}
	}
}

func (m *meter) show() {
	m.mu.Lock()
	defer m.mu.Unlock()
	line := m.title
	if m.current != "" {
		line += ": " + m.current
	}
	if m.downloaded > 0 {
		line += fmt.Sprintf(", %d modules downloaded", m.downloaded)
	}
	if m.compiled > 0 {
		line += fmt.Sprintf(", %d packages compiled", m.compiled)
	}
	line += fmt.Sprintf(" (%s)", time.Since(m.started).Round(time.Second))
	if m.terminal {
		_, _ = fmt.Fprintf(m.output, "\r\x1b[K%s", line)
		return
	}
	_, _ = fmt.Fprintln(m.output, line)
}

func (m *meter) program(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.current = name
}

// follow runs the go command and counts what it reports. The error of a failed one carries the end of its output.
func (m *meter) follow(command *exec.Cmd) error {
	reader, writer := io.Pipe()
	command.Stdout, command.Stderr = writer, writer
	if err := command.Start(); err != nil {
		return err
	}
	var tail []string
	var reading sync.WaitGroup
	reading.Go(func() {
		scanner := bufio.NewScanner(reader)
		for scanner.Scan() {
			m.count(scanner.Text())
			tail = append(tail[max(0, len(tail)-buildTail+1):], scanner.Text())
		}
		// A line beyond the scanner's limit must not block the command.
		_, _ = io.Copy(io.Discard, reader)
	})
	err := command.Wait()
	_ = writer.Close()
	reading.Wait()
	if err != nil {
		return buildError(err, tail)
	}
	return nil
}

func (m *meter) count(line string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case strings.HasPrefix(line, "go: downloading "):
		m.downloaded++
	case !strings.Contains(line, " "):
		m.compiled++
	}
}
