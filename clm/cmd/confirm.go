// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/component-operator/runtime/clm/internal/session"
	"github.com/component-operator/runtime/clm/internal/terminal"
)

// interactive tells whether there is somebody to be asked.
func (e *environment) interactive() bool {
	input, isFile := e.in.(*os.File)
	return isFile && term.IsTerminal(int(input.Fd())) && terminal.IsTerminal(e.err)
}

// confirm asks a question that is to be answered with yes. An interrupt counts as no.
func (e *environment) confirm(ctx context.Context, question string) error {
	fmt.Fprintf(e.err, "%s [y/N] ", question)
	type line struct {
		text string
		err  error
	}
	answers := make(chan line, 1)
	go func() {
		text, err := bufio.NewReader(e.in).ReadString('\n')
		answers <- line{text, err}
	}()
	select {
	case answer := <-answers:
		if answer.err != nil && !errors.Is(answer.err, io.EOF) {
			return fmt.Errorf("reading the answer: %w", answer.err)
		}
		switch strings.ToLower(strings.TrimSpace(answer.text)) {
		case "y", "yes":
			return nil
		default:
			return &session.RefusedError{Reason: "not confirmed; nothing was done"}
		}
	case <-ctx.Done():
		fmt.Fprintln(e.err)
		return ctx.Err()
	}
}
