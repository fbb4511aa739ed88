// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package display

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"

	"golang.org/x/term"
)

// Color decides when output is colored. The zero value is ColorAuto.
type Color string

const (
	// ColorAuto means that output to a terminal is colored, unless the environment variable NO_COLOR has a value or
	// TERM is dumb.
	ColorAuto Color = "auto"
	// ColorAlways means that output is always colored.
	ColorAlways Color = "always"
	// ColorNever means that output is not colored.
	ColorNever Color = "never"
)

// Style returns the style for output to that writer.
func (c Color) Style(out io.Writer) Style {
	isAuto := c != ColorAlways && c != ColorNever
	return Style(c == ColorAlways || isAuto && os.Getenv("NO_COLOR") == "" && IsCapable(out))
}

// Style colors text if it is true. The text must be a single line.
type Style bool

// Bold is for headings.
func (s Style) Bold(text string) string { return s.paint("1", text) }

// Faint is for less important text.
func (s Style) Faint(text string) string { return s.paint("2", text) }

// Red is for failures and deletions.
func (s Style) Red(text string) string { return s.paint("31", text) }

// Green is for success and creations.
func (s Style) Green(text string) string { return s.paint("32", text) }

// Yellow is for unfinished objects and changes.
func (s Style) Yellow(text string) string { return s.paint("33", text) }

// Cyan is for positions in a diff.
func (s Style) Cyan(text string) string { return s.paint("36", text) }

// paint ends with a reset, so that the color does not continue after a line that is cut off.
func (s Style) paint(code, text string) string {
	if !s || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// The size of a terminal that does not report one.
const (
	defaultColumns = 80
	defaultRows    = 24
)

// IsTerminal reports whether a writer or a reader is a terminal.
func IsTerminal(stream any) bool {
	fd, ok := descriptor(stream)
	return ok && term.IsTerminal(fd)
}

// IsCapable reports whether the writer is a terminal that supports colors and cursor movements.
func IsCapable(out io.Writer) bool {
	return IsTerminal(out) && os.Getenv("TERM") != "dumb"
}

// IsAttended reports whether a user watches the output, so that it may be redrawn: the writer is a capable terminal,
// and the environment variable CI is unset, false or 0.
func IsAttended(out io.Writer) bool { return IsCapable(out) && !unattended(os.Getenv("CI")) }

// unattended reports whether the value of the environment variable CI indicates a CI system.
func unattended(ci string) bool {
	return ci != "" && ci != "0" && ci != "false"
}

// Size returns the current size of the terminal, or 80 x 24 if there is none or it does not report a size.
func Size(out io.Writer) (columns, rows int) {
	if fd, ok := descriptor(out); ok {
		if columns, rows, err := term.GetSize(fd); err == nil && columns > 0 && rows > 0 {
			return columns, rows
		}
	}
	return defaultColumns, defaultRows
}

// Limit returns the number of cells that a line may occupy on the writer: the columns of a terminal, or zero, which
// means no limit, for everything else, so that programs and logs get full texts.
func Limit(out io.Writer) int {
	if dialog, isDialog := out.(*Dialog); isDialog {
		out = dialog.Writer
	}
	if !IsTerminal(out) {
		return 0
	}
	columns, _ := Size(out)
	return columns
}

func descriptor(stream any) (int, bool) {
	file, ok := stream.(interface{ Fd() uintptr })
	if !ok {
		return 0, false
	}
	return int(file.Fd()), true
}

// Guard returns a writer through which no text can control the terminal. It escapes characters as [Escape] does, except
// line breaks and text colors. It returns a writer that is not a terminal, such as a file, unchanged: programs get
// exact texts.
func Guard(out io.Writer) io.Writer {
	if !IsTerminal(out) {
		return out
	}
	return &guard{out: out}
}

type guard struct {
	out io.Writer

	mu sync.Mutex
	// begun is the first part of a character that the next text completes.
	begun string
}

// Fd returns the file descriptor, so that the writer is recognized as a terminal.
func (g *guard) Fd() uintptr {
	fd, _ := descriptor(g.out)
	return uintptr(fd)
}

// Write writes all complete characters, and keeps the rest for the next call.
func (g *guard) Write(text []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	whole := g.begun + string(text)
	end := len(whole)
	for i := 1; i < utf8.UTFMax && i <= len(whole); i++ {
		if start := len(whole) - i; utf8.RuneStart(whole[start]) {
			if !utf8.FullRuneInString(whole[start:]) {
				end = start
			}
			break
		}
	}
	g.begun = whole[end:]
	if _, err := io.WriteString(g.out, escape(strings.ReplaceAll(whole[:end], "\r\n", "\n"), func(rest string) int {
		if rest[0] == '\n' {
			return 1
		}
		return colors(rest)
	})); err != nil {
		return 0, err
	}
	return len(text), nil
}

// color matches control sequences that color text. They cannot make text invisible: backgrounds, black and concealment
// are excluded.
var color = regexp.MustCompile(`^\x1b\[(?:(?:0?[0-4]|2[2-4]|3[1-79]|9[0-7])(?:;(?:0?[0-4]|2[2-4]|3[1-79]|9[0-7]))*)?m`)

// colors returns the length of the color sequence at the beginning of a text; 0 if there is none.
func colors(text string) int {
	if text[0] != '\x1b' {
		return 0
	}
	return len(color.FindString(text))
}

// Dialog is a terminal on which a user answers questions, even if the standard streams of the process are redirected.
type Dialog struct {
	io.Writer

	in    io.Reader
	close func() error
}

// SilenceError is the reason why no user can be asked.
type SilenceError struct {
	// Reason is a clause, such as "there is no terminal".
	Reason string
	// Attended means that a user sits at a terminal nevertheless.
	Attended bool
}

// Error returns the reason.
func (e *SilenceError) Error() string { return e.Reason }

// errNoTerminal means that the process has no controlling terminal.
var errNoTerminal = errors.New("there is no terminal")

// OpenDialog opens the controlling terminal of the process, or uses input and messages if there is none and both are
// terminals. Otherwise it returns a SilenceError, as it does if the process runs in the background of its terminal, or
// if the environment variable CI is set. The caller must close the dialog.
func OpenDialog(input io.Reader, messages io.Writer) (*Dialog, error) {
	if unattended(os.Getenv("CI")) {
		return nil, &SilenceError{Reason: "clm cannot ask, because the environment variable CI is set"}
	}
	device, err := openControlling()
	switch {
	case err == nil:
		return &Dialog{Writer: Guard(device), in: device, close: device.Close}, nil
	case !errors.Is(err, errNoTerminal):
		return nil, &SilenceError{Reason: err.Error(), Attended: true}
	case IsTerminal(input) && IsTerminal(messages):
		return &Dialog{Writer: messages, in: input, close: func() error { return nil }}, nil
	default:
		return nil, &SilenceError{Reason: "clm cannot ask, because " + err.Error()}
	}
}

// Close closes the terminal.
func (d *Dialog) Close() error { return d.close() }

// Ask writes a question, wrapped between words, and returns the line that the user enters, without the line break. It
// discards input from before the question. It returns io.EOF if the input ends. If the context ends first, the answer
// is lost.
func (d *Dialog) Ask(ctx context.Context, question string) (string, error) {
	return d.ask(ctx, question, func() (string, error) { return bufio.NewReader(d.in).ReadString('\n') })
}

// AskHidden is Ask for a secret: the terminal does not show what the user enters.
func (d *Dialog) AskHidden(ctx context.Context, question string) (string, error) {
	fd, _ := descriptor(d.in)
	// What is typed before the answer is read must not be shown, either.
	before, err := term.MakeRaw(fd)
	if err != nil {
		return "", fmt.Errorf("asking: hiding the answer: %w", err)
	}
	answer, err := d.ask(ctx, question, func() (string, error) {
		text, err := term.ReadPassword(fd)
		return string(text), err
	})
	if restoreErr := term.Restore(fd, before); restoreErr != nil {
		return "", fmt.Errorf("asking: %w", restoreErr)
	}
	if err == nil { // the line break of the user is hidden, too
		fmt.Fprintln(d)
	}
	return answer, err
}

func (d *Dialog) ask(ctx context.Context, question string, read func() (string, error)) (string, error) {
	if device, isFile := d.in.(*os.File); isFile {
		if err := discardPending(device); err != nil {
			return "", fmt.Errorf("asking: discarding earlier input: %w", err)
		}
	}
	if limit := Limit(d); limit > 0 {
		question = strings.Join(Wrap(question, limit-1), "\n")
	}
	if _, err := fmt.Fprintf(d, "%s ", question); err != nil {
		return "", fmt.Errorf("asking: %w", err)
	}
	type line struct {
		text string
		err  error
	}
	lines := make(chan line, 1)
	go func() {
		text, err := read()
		lines <- line{text, err}
	}()
	select {
	case <-ctx.Done():
		fmt.Fprintln(d)
		return "", ctx.Err()
	case entered := <-lines:
		if entered.err != nil {
			fmt.Fprintln(d)
			return "", fmt.Errorf("reading the answer: %w", entered.err)
		}
		return strings.TrimRight(entered.text, "\r\n"), nil
	}
}
