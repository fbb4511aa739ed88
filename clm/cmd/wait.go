// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"github.com/spf13/cobra"

	"github.com/component-operator/runtime/clm/internal/runner"
	"github.com/component-operator/runtime/clm/internal/views"
)

func newWaitCommand(e *environment) *cobra.Command {
	timeout := defaultTimeout
	goal := choice{value: string(views.GoalReady), allowed: []string{string(views.GoalReady), string(views.GoalDeleted)}}
	form := choice{allowed: []string{outputJSON}}
	command := &cobra.Command{
		Use:   "wait NAME",
		Short: "Wait until a release is ready, or deleted",
		Long: `Wait until the release NAME exists, was applied successfully (perhaps with --no-wait), and all its dependents are ready; or, with --for=deleted, until it no longer
exists. clm wait changes nothing: it waits for what other processes do. If objects remain to be applied or deleted and no process is working on the release,
clm says so, and keeps waiting in case one starts. The exit code is 3 if the timeout is reached first.`,
		Example: "  clm wait web --timeout 10m\n  clm wait web --for=deleted",
		RunE: func(command *cobra.Command, args []string) error {
			return e.with(command.Context(), form.value == outputJSON, func(s *runner.Connection, namespace string) error {
				return shown(views.Wait(command.Context(), s, namespace, args[0], views.Goal(goal.value), timeout))
			})
		},
	}
	flags := command.Flags()
	flags.Var(&goal, "for", "what to wait for")
	flags.Var(period(&timeout), "timeout", "how long to wait; 0 means no limit")
	flags.VarP(&form, "output", "o", "write events to standard output while clm waits, one per line")
	return command
}
