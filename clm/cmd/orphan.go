// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/component-operator/runtime/clm/internal/operation"
	"github.com/component-operator/runtime/clm/internal/runner"
)

func newOrphanCommand(e *environment) *cobra.Command {
	o := changeOptions{undeclared: true}
	var all bool
	command := &cobra.Command{
		Use:   "orphan NAME [OBJECT...]",
		Short: "End the ownership of objects, and leave them in the cluster",
		Long: `Orphan objects of release NAME: they stay in the cluster as they are, without an owner. The release gets a new revision without them. Their
ownership ends when everything else is ready; if the release is deleted before that, they stay as well.

If the release is applied again from sources that still render an object, the release adopts it again.

With --all, orphan all objects of the release, for example to continue with another tool. The release stays without objects, until clm delete removes it.

clm shows what will change, and asks for confirmation. ` + askingHelp + `

` + objectsHelp,
		Example: "  clm orphan web configmap/settings\n  clm orphan web --all",
		Args: func(_ *cobra.Command, args []string) error {
			return checkObjects(args, all, "--all orphans all objects of the release")
		},
		RunE: func(command *cobra.Command, args []string) error {
			return o.run(command.Context(), e, func(s *runner.Connection, namespace string, compare bool) (*operation.Plan, error) {
				request := operation.HandoverRequest{Namespace: namespace, Name: args[0], Objects: args[1:], All: all, Approved: o.approved}
				p, err := operation.PlanOrphaning(command.Context(), s, request, compare)
				if err == nil {
					fmt.Fprintf(e.err, "Note: if release %s is applied again from sources that still render these objects, it adopts them again.\n", p.Release)
				}
				return p, err
			})
		},
	}
	addChangeFlags(command.Flags(), &o)
	addConflictsFlag(command.Flags(), &o.conflicts, "", "")
	command.Flags().BoolVar(&all, "all", false, "orphan all objects of the release")
	return command
}
