// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"
)

// Control sequences of terminals.
const (
	bold      = "\x1b[1m"
	faint     = "\x1b[2m"
	green     = "\x1b[32m"
	reset     = "\x1b[0m"
	eraseLine = "\r\x1b[K"
)

// defaultWidth is the width in columns of a terminal that does not report one.
const defaultWidth = 80

// A screen shows the play. On a terminal, it uses colors, and the last line shows the progress; elsewhere, it prints
// plain lines only.
type screen struct {
	out      io.Writer
	terminal bool
	color    bool
	width    int

	mu       sync.Mutex
	progress string // the current text of the last line
}

// newScreen detects whether the file is a terminal. The environment variable NO_COLOR disables colors.
func newScreen(out *os.File, getenv func(string) string) *screen {
	s := &screen{out: out, width: defaultWidth}
	s.terminal = term.IsTerminal(int(out.Fd())) && getenv("TERM") != "dumb"
	s.color = s.terminal && getenv("NO_COLOR") == ""
	if width, _, err := term.GetSize(int(out.Fd())); err == nil && width > 0 {
		s.width = width
	}
	return s
}

// Act announces an act.
func (s *screen) Act(number int, title string) {
	s.print("\n" + s.paint(bold, fmt.Sprintf("%d. %s", number, title)))
}

// Line prints a line.
func (s *screen) Line(format string, args ...any) {
	s.print("   " + fmt.Sprintf(format, args...))
}

// Proof prints a claim that was checked.
func (s *screen) Proof(format string, args ...any) {
	mark := "ok"
	if s.terminal {
		mark = s.paint(green, "✓ ")
	}
	s.print(mark + " " + fmt.Sprintf(format, args...))
}

// End prints the last line.
func (s *screen) End(format string, args ...any) {
	s.print("\n" + s.paint(bold, fmt.Sprintf(format, args...)))
}

// Progress shows a text, on terminals only, until the next line.
func (s *screen) Progress(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text = strings.Join(strings.Fields(text), " ")
	if !s.terminal || text == s.progress {
		return
	}
	s.progress = text
	runes := []rune("   " + text)
	if limit := s.width - 1; len(runes) > limit {
		runes = append(runes[:limit-1], '…')
	}
	fmt.Fprint(s.out, eraseLine+s.paint(faint, string(runes)))
}

func (s *screen) print(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.progress != "" {
		fmt.Fprint(s.out, eraseLine)
		s.progress = ""
	}
	fmt.Fprintln(s.out, line)
}

func (s *screen) paint(color, text string) string {
	if !s.color {
		return text
	}
	return color + text + reset
}

// round makes a duration readable: milliseconds below a second, tenths of seconds above.
func round(d time.Duration) time.Duration {
	if d < time.Second {
		return d.Round(time.Millisecond)
	}
	return d.Round(100 * time.Millisecond)
}
