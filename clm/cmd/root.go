// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

// streams are where a command reads from and writes to.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

// exitInterrupted is what shells say of a command that SIGINT has ended.
const exitInterrupted = 130

// exitError ends clm with that code and without a message: the command that it ran has said what there is to say.
type exitError struct {
	code int
}

func (e *exitError) Error() string { return fmt.Sprintf("exit code %d", e.code) }

// Main runs clm with the given arguments and returns its exit code: 0, 1 after an error, 130 if it was interrupted, or the exit code of a command
// that clm ran.
// The first SIGINT, SIGTERM or SIGHUP asks for an orderly end, the second one ends clm at once.
func Main(args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	context.AfterFunc(ctx, stop)

	root := newRootCommand(streams{in: os.Stdin, out: os.Stdout, err: os.Stderr})
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	var exit *exitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.code
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		_, _ = fmt.Fprintln(os.Stderr, "interrupted")
		return exitInterrupted
	default:
		_, _ = fmt.Fprintln(os.Stderr, "Error:", err)
		return 1
	}
}

func newRootCommand(s streams) *cobra.Command {
	command := &cobra.Command{
		Use:           "clm",
		Short:         "Work with components, the things that component operators manage",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.NoArgs,
	}
	command.SetIn(s.in)
	command.SetOut(s.out)
	command.SetErr(s.err)
	command.AddCommand(newTemplateCommand(s), newSandboxCommand(s))
	return command
}
