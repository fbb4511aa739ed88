// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/component-operator/runtime/clm/internal/apply"
	"github.com/component-operator/runtime/clm/internal/connection"
	"github.com/component-operator/runtime/clm/internal/transfer"
)

func newOrphanCommand(e *environment) *cobra.Command {
	o := changeOptions{undeclared: true}
	command := &cobra.Command{
		Use:   "orphan NAME OBJECT...",
		Short: "End the ownership of objects, and leave them in the cluster",
		Long: `Orphan objects of release NAME: they stay in the cluster as they are, without an owner. The release gets a new revision without them. Their
ownership ends when everything else is ready; if the release is deleted before that, they stay as well.

If the release is applied again from sources that still render an object, the release adopts it again.

clm shows what will change, and asks for confirmation. ` + askingHelp + `

` + objectsHelp,
		Annotations: exits(exitNotReady, exitRefused, exitInterrupted),
		Example:     "  clm orphan web configmap/settings",
		Args:        cobra.MinimumNArgs(2),
		RunE: func(command *cobra.Command, args []string) error {
			return runOrphan(command.Context(), e, o, args[0], args[1:])
		},
	}
	addChangeFlags(command.Flags(), &o)
	return command
}

func runOrphan(ctx context.Context, e *environment, o changeOptions, name string, objects []string) error {
	namespace, err := e.kube.namespace()
	if err != nil {
		return err
	}
	return o.run(ctx, e, func(s *connection.Connection, compare bool) (*apply.Plan, error) {
		p, err := transfer.PlanOrphaning(ctx, s, transfer.Request{Namespace: namespace, Name: name, Objects: objects}, compare)
		if err == nil {
			fmt.Fprintf(e.err, "Note: if release %s is applied again from sources that still render these objects, it adopts them again.\n", p.Release)
		}
		return p, err
	})
}
