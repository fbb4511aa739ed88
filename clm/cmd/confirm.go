// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"errors"
	"io"
	"strings"

	"github.com/component-operator/runtime/clm/internal/failures"
	"github.com/component-operator/runtime/clm/internal/terminal"
)

// askingHelp says who is asked; it ends a paragraph.
const askingHelp = `clm asks on the terminal, even if standard
input or output is redirected. Without a terminal, or if the environment variable CI is set, clm refuses to go on unless --yes is given.`

// consent is how a command finds out whether somebody wants what it is about to do. The zero value needs nobody.
type consent struct {
	// dialog is the terminal on which somebody is asked; nil if nobody is.
	dialog *terminal.Dialog
	// silence says why nobody can be asked although somebody has to be; nil if nobody has to be.
	silence error
	errOut  io.Writer
}

// consent opens the terminal unless the answer was given in advance. If nobody can be asked, the command may go on only if it is one that says itself
// what is wanted, and nobody sits at a terminal. The consent is to be closed.
func (e *environment) consent(given, declared bool) consent {
	c := consent{errOut: e.err}
	if given {
		return c
	}
	var err error
	if e.dialog == nil {
		err = &terminal.SilenceError{Reason: "nobody can be asked, because there is no terminal"}
	} else if c.dialog, err = e.dialog(); err == nil {
		return c
	}
	var silence *terminal.SilenceError
	if attended := errors.As(err, &silence) && silence.Attended; attended || !declared {
		c.silence = err
	}
	return c
}

// openDialog finds out who may be asked if the streams are those of the process.
func (e *environment) openDialog() (*terminal.Dialog, error) { return terminal.OpenDialog(e.in, e.err) }

// needed reports whether somebody has to agree.
func (c consent) needed() bool { return c.dialog != nil || c.silence != nil }

// out is where to show what somebody has to agree to: standard error, unless that would not reach whoever is asked.
func (c consent) out() io.Writer {
	if c.dialog != nil && !terminal.IsTerminal(c.errOut) {
		return c.dialog
	}
	return c.errOut
}

// shown reports whether what was printed there has reached whoever is asked.
func (c consent) shown(out io.Writer, form output) bool {
	return form.forPeople() && (c.dialog == nil || terminal.IsTerminal(out))
}

// get asks a question that is to be answered with yes. The error is a RefusedError unless somebody agrees, or has in advance.
func (c consent) get(ctx context.Context, question string) error {
	if c.silence != nil {
		return &failures.RefusedError{Reason: "not confirmed: " + c.silence.Error() + "; nothing was done; to go on without a question: --yes"}
	}
	if c.dialog == nil {
		return nil
	}
	answer, err := c.dialog.Ask(ctx, question+" [y/N]")
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return nil
	default:
		return &failures.RefusedError{Reason: "not confirmed; nothing was done"}
	}
}

func (c consent) Close() {
	if c.dialog != nil {
		_ = c.dialog.Close()
	}
}
