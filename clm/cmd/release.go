// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"errors"
	"io"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/component-operator/runtime/clm/internal/display"
	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/clm/internal/runner"
	"github.com/component-operator/runtime/pkg/reconciler"
)

// environment is the common environment of commands for releases.
type environment struct {
	streams

	kube  *kube
	color choice
	// dialog opens the terminal for questions; nil if there is none.
	dialog func() (*display.Dialog, error)
}

// patience is how long a command may be silent on a terminal while it makes a plan; 0 means any time. Only tests change
// it.
var patience = time.Second

// style returns the style of output to a writer.
func (e *environment) style(out io.Writer) display.Style {
	return display.Color(e.color.value).Style(out)
}

// announce says on a terminal what a command does if that takes long. Nothing is said once the function that it returns
// has returned.
func (e *environment) announce(what string) (done func()) {
	if patience == 0 || !display.IsTerminal(e.err) {
		return func() {}
	}
	said := make(chan struct{})
	timer := time.AfterFunc(patience, func() {
		defer close(said)
		writeWrapped(e.err, "", what+" …")
	})
	return sync.OnceFunc(func() {
		if !timer.Stop() {
			<-said
		}
	})
}

// exitCode returns the exit code for an error of a command.
func exitCode(err error) int {
	var exit *exitError
	var notReady *releases.NotReadyError
	var refused *releases.RefusedError
	var locked *releases.LockedError
	var stale *reconciler.StaleError
	var rejected *reconciler.RefusedError
	var interrupted *releases.InterruptedError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.code
	case errors.As(err, &interrupted), errors.Is(err, context.Canceled):
		return exitInterrupted
	case errors.As(err, &notReady):
		return exitNotReady
	case errors.As(err, &refused), errors.As(err, &locked), errors.As(err, &stale), releases.IsChanged(err), errors.As(err, &rejected) && rejected.Foreign:
		return exitRefused
	default:
		return 1
	}
}

// printer shows an operation: on standard error for people, and as events on standard output for programs if events is
// set.
func (e environment) printer(events bool) display.Printer {
	options := display.PrinterOptions{Out: e.err, Color: display.Color(e.color.value)}
	if events {
		options.Out, options.Mode = e.out, display.ModeJSON
	} else if e.kube.verbosity > 0 {
		// Logged requests would disturb a view that is redrawn.
		options.Mode = display.ModePlain
	}
	return &unattended{Printer: display.NewPrinter(options)}
}

// unattended ignores that the reader of the output is gone, as after "| head": that must not kill an operation halfway.
type unattended struct {
	display.Printer

	begin sync.Once
}

func (u *unattended) Update(state display.Progress) {
	// Otherwise the next write would end clm. Writes fail instead, which a Printer ignores.
	u.begin.Do(func() { signal.Ignore(syscall.SIGPIPE) })
	u.Printer.Update(state)
}

// shown converts an error that was shown as the outcome of an operation to an exit code.
func shown(err error) error {
	if err == nil || releases.IsChanged(err) {
		return err
	}
	return &exitError{code: exitCode(err)}
}

// attempts limits how often a plan is repeated because other clients change the release at the same time.
const attempts = 5

// again repeats an attempt, up to the limit, while another client has changed the release after the plan was made.
func (e *environment) again(s *runner.Connection, limit int, attempt func() error) error {
	for n := 1; ; n++ {
		err := attempt()
		if !releases.IsChanged(err) {
			return err
		}
		if n == limit {
			runner.GiveUp(s, err)
			return &exitError{code: exitCode(err)}
		}
	}
}

// repeat connects, and makes an attempt, again if another client has changed the release after the plan was made.
func (e *environment) repeat(ctx context.Context, events bool, attempt func(s *runner.Connection, namespace string) error) error {
	s, namespace, err := e.connect(ctx, events)
	if err != nil {
		return err
	}
	defer s.Close()
	return e.again(s, attempts, func() error { return attempt(s, namespace) })
}

// connect opens a connection, and returns the namespace of the command line.
func (e *environment) connect(ctx context.Context, events bool) (*runner.Connection, string, error) {
	namespace, err := e.kube.namespace()
	if err != nil {
		return nil, "", err
	}
	s, err := e.open(ctx, events)
	return s, namespace, err
}

// connectTo is connect with output for people; an empty namespace means all namespaces.
func (e *environment) connectTo(ctx context.Context, all bool) (*runner.Connection, string, error) {
	if !all {
		return e.connect(ctx, false)
	}
	s, err := e.open(ctx, false)
	return s, "", err
}

// open connects to the cluster. If events is set, operations are shown as events for programs, otherwise for people.
func (e *environment) open(ctx context.Context, events bool) (*runner.Connection, error) {
	s, err := e.begin(events)
	if err != nil {
		return nil, err
	}
	if err := s.Ready(ctx); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// begin is open for commands that work before the cluster answers.
func (e *environment) begin(events bool) (*runner.Connection, error) {
	return e.kube.connection(e.printer(events))
}
