// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/clm/internal/views"
)

// lookOptions are what commands were given that show how a release stands.
type lookOptions struct {
	name   string
	watch  bool
	output output
}

func newStatusCommand(e *environment) *cobra.Command {
	o := lookOptions{}
	command := &cobra.Command{
		Use:        "status NAME",
		SuggestFor: []string{"inspect", "describe"},
		Short:      "Show the status of a release, and why it is not ready",
		Long: `Show the record of the release NAME, how many of its dependents are ready, and which are not, with the reasons: states of containers,
conditions, events, the last line in the log of a crashed container. The oldest problem comes first.

The exit code is 0 if the release was applied successfully and all dependents are ready, and 3 if not.

With --watch, clm shows the status again whenever something changes, until the release is ready or has failed.`,
		Example: "  clm status web\n  clm status web --watch",
		Args:    cobra.ExactArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			o.name = args[0]
			return runStatus(command.Context(), e, o)
		},
	}
	o.output = newOutput(command)
	command.Flags().BoolVarP(&o.watch, "watch", "w", false, "watch until the release is ready or has failed")
	return command
}

func runStatus(ctx context.Context, e *environment, o lookOptions) error {
	last, err := o.look(ctx, e, views.Following{
		Show: func(snapshot *views.Snapshot) bool {
			return snapshot.Ready() || snapshot.Release.State == releases.StateFailed
		},
	}, func(snapshot *views.Snapshot) view { return statusView{snapshot} })
	if err == nil && !last.Ready() {
		return &exitError{code: exitNotReady}
	}
	return err
}

// look shows a release as the function says, once or until the function Show of the following has seen enough. The
// views are not shown side by side.
func (o lookOptions) look(ctx context.Context, e *environment, following views.Following, view func(*views.Snapshot) view) (*views.Snapshot, error) {
	s, namespace, err := e.connect(ctx, false)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	v := newViewer(e, o.output, o.watch)
	var last *views.Snapshot
	enough, gone := following.Show, false
	following.Namespace, following.Name, following.Trouble = namespace, o.name, v.trouble
	following.Show = func(snapshot *views.Snapshot) bool {
		if gone = snapshot.Release == nil; gone {
			return true
		}
		last = snapshot
		v.show(view(snapshot), snapshot.Notes)
		return !o.watch || enough(snapshot)
	}
	err = views.Follow(ctx, s, following)
	if shown := v.close(); err == nil {
		err = shown
	}
	switch {
	case last == nil && gone:
		// By now there may be one, but it was not seen.
		return nil, s.Absent(ctx, namespace, o.name)
	case last != nil && ctx.Err() != nil:
		return nil, &exitError{code: exitInterrupted}
	case err == nil && gone:
		fmt.Fprintf(e.err, "release %s no longer exists\n", last.Release)
		return nil, &exitError{code: exitNotReady}
	}
	return last, err
}
