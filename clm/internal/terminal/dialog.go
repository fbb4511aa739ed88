// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package terminal

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// Dialog is a terminal at which somebody answers questions, wherever the standard streams of the process go.
type Dialog struct {
	io.Writer

	in    io.Reader
	close func() error
}

// SilenceError says why nobody can be asked.
type SilenceError struct {
	// Reason is a clause, such as "there is no terminal".
	Reason string
	// Attended means that somebody sits at a terminal all the same.
	Attended bool
}

// Error returns the reason.
func (e *SilenceError) Error() string { return e.Reason }

// errNoTerminal says that the process has no controlling terminal.
var errNoTerminal = errors.New("there is no terminal")

// OpenDialog opens the controlling terminal of the process. If it has none, input and messages serve, provided that both are terminals. The error is a
// SilenceError: there is no terminal, or the process runs in its background, or the environment variable CI says that nobody is there. The dialog is
// to be closed.
func OpenDialog(input io.Reader, messages io.Writer) (*Dialog, error) {
	if unattended(os.Getenv("CI")) {
		return nil, &SilenceError{Reason: "nobody can be asked, as the environment variable CI says"}
	}
	device, err := openControlling()
	switch {
	case err == nil:
		return &Dialog{Writer: device, in: device, close: device.Close}, nil
	case !errors.Is(err, errNoTerminal):
		return nil, &SilenceError{Reason: err.Error(), Attended: true}
	case isTerminal(input) && IsTerminal(messages):
		return &Dialog{Writer: messages, in: input, close: func() error { return nil }}, nil
	default:
		return nil, &SilenceError{Reason: "nobody can be asked, because " + err.Error()}
	}
}

// Close closes the terminal.
func (d *Dialog) Close() error { return d.close() }

// Ask writes a question and returns the line that is entered, without the line break. What was typed before, when nobody could know what would be asked, is
// no answer, and is lost. The end of the input instead of a line is io.EOF. If the context
// ends first, what is entered is lost.
func (d *Dialog) Ask(ctx context.Context, question string) (string, error) {
	if device, isFile := d.in.(*os.File); isFile {
		if err := discardPending(device); err != nil {
			return "", fmt.Errorf("asking: discarding what was typed before: %w", err)
		}
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
		text, err := bufio.NewReader(d.in).ReadString('\n')
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

func isTerminal(input io.Reader) bool {
	file, isFile := input.(*os.File)
	return isFile && IsTerminal(file)
}
