// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/component-operator/runtime/clm/internal/views"
)

type waitOptions struct {
	name    string
	goal    choice
	timeout time.Duration
	output  choice
}

func newWaitCommand(e *environment) *cobra.Command {
	o := waitOptions{
		goal:   choice{value: string(views.GoalReady), allowed: []string{string(views.GoalReady), string(views.GoalDeleted)}},
		output: choice{allowed: []string{outputJSON}},
	}
	command := &cobra.Command{
		Use:   "wait NAME",
		Short: "Wait until a release is ready, or deleted",
		Long: `Wait until the release NAME exists, was applied successfully (perhaps with --no-wait), and all its dependents are ready; or, with --for=deleted, until it no longer
exists. clm wait changes nothing: it waits for what other processes do. If objects remain to be applied or deleted and no process is working on the release,
clm says so, and keeps waiting in case one starts. The exit code is 3 if the timeout is reached first.`,
		Example: "  clm wait web --timeout 10m\n  clm wait web --for=deleted",
		Args:    cobra.ExactArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			o.name = args[0]
			return runWait(command.Context(), e, o)
		},
	}
	flags := command.Flags()
	flags.Var(&o.goal, "for", "what to wait for")
	o.timeout = defaultTimeout
	flags.Var(period(&o.timeout), "timeout", "how long to wait; 0 means no limit")
	flags.VarP(&o.output, "output", "o", "write events to standard output while clm waits, one per line")
	return command
}

func runWait(ctx context.Context, e *environment, o waitOptions) error {
	s, namespace, err := e.connect(ctx, o.output.value == outputJSON)
	if err != nil {
		return err
	}
	defer s.Close()
	return shown(views.Wait(ctx, s, namespace, o.name, views.Goal(o.goal.value), o.timeout))
}
