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
	"strings"
)

// Dialog is a terminal on which a user answers questions, even if the standard streams of the process are redirected.
type Dialog struct {
	io.Writer

	in    io.Reader
	close func() error
}

// SilenceError says why no user can be asked.
type SilenceError struct {
	// Reason is a clause, such as "there is no terminal".
	Reason string
	// Attended means that a user sits at a terminal nevertheless.
	Attended bool
}

// Error returns the reason.
func (e *SilenceError) Error() string { return e.Reason }

// errNoTerminal says that the process has no controlling terminal.
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
	case isTerminal(input) && IsTerminal(messages):
		return &Dialog{Writer: messages, in: input, close: func() error { return nil }}, nil
	default:
		return nil, &SilenceError{Reason: "clm cannot ask, because " + err.Error()}
	}
}

// Close closes the terminal.
func (d *Dialog) Close() error { return d.close() }

// Ask writes a question, which is wrapped between words, and returns the line that the user enters, without the line
// break. It discards what was typed before the question. It returns io.EOF if the input ends. If the context ends
// first, the answer is lost.
func (d *Dialog) Ask(ctx context.Context, question string) (string, error) {
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
