// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"errors"
	"io"
	"strings"

	"github.com/component-operator/runtime/clm/internal/display"
	"github.com/component-operator/runtime/clm/internal/releases"
)

// askingHelp explains the confirmation; it ends a paragraph of a help text.
const askingHelp = `clm asks on the terminal, even if standard
input or output is redirected. Without a terminal, or if the environment variable CI is set, clm refuses to continue unless --yes is given.`

// consent asks the user to confirm what a command is about to do. The zero value needs no confirmation.
type consent struct {
	// dialog is the terminal for the question; nil if there is no question.
	dialog *display.Dialog
	// silence says why the user cannot be asked for a required confirmation; nil if none is required.
	silence error
	// context is where it is about to do that; may be empty.
	context string
	errOut  io.Writer
}

// consent opens the terminal unless --yes was given. If it cannot ask, the command may continue only if its arguments
// declare the result, and no user sits at a terminal. The caller must close the consent.
func (e *environment) consent(given, declared bool) consent {
	c := consent{errOut: e.err, context: e.kube.context()}
	if given {
		return c
	}
	var err error
	if e.dialog == nil {
		err = &display.SilenceError{Reason: "clm cannot ask, because there is no terminal"}
	} else if c.dialog, err = e.dialog(); err == nil {
		return c
	}
	var silence *display.SilenceError
	if attended := errors.As(err, &silence) && silence.Attended; attended || !declared {
		c.silence = err
	}
	return c
}

// openDialog opens the terminal if the streams are those of the process.
func (e *environment) openDialog() (*display.Dialog, error) { return display.OpenDialog(e.in, e.err) }

// needed reports whether a confirmation is required.
func (c consent) needed() bool { return c.dialog != nil || c.silence != nil }

// out is where to show the plan for confirmation: standard error, or the terminal if the user would not see that.
func (c consent) out() io.Writer {
	if c.dialog != nil && !display.IsTerminal(c.errOut) {
		return c.dialog
	}
	return c.errOut
}

// shown reports whether the user has seen what was printed there.
func (c consent) shown(out io.Writer, form output) bool {
	return form.forPeople() && (c.dialog == nil || display.IsTerminal(out))
}

// get asks for confirmation, by a question that it completes by the context of the kubeconfig. The error is a
// RefusedError unless the user agrees, or has by --yes.
func (c consent) get(ctx context.Context, question string) error {
	if c.silence != nil {
		return &releases.RefusedError{Reason: "not confirmed: " + c.silence.Error() + "; nothing was changed; to continue without confirmation: --yes"}
	}
	if c.dialog == nil {
		return nil
	}
	if c.context != "" {
		// Before the end, or before what the question adds: "Create release demo/web in context prod, although …?"
		at := strings.IndexAny(question, ",?")
		question = question[:at] + " in context " + display.Clean(c.context) + question[at:]
	}
	answer, err := c.dialog.Ask(ctx, question+" [y/N]")
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return nil
	default:
		return &releases.RefusedError{Reason: "not confirmed; nothing was changed"}
	}
}

func (c consent) Close() {
	if c.dialog != nil {
		_ = c.dialog.Close()
	}
}
