// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/component-operator/runtime/clm/internal/apply"
	"github.com/component-operator/runtime/clm/internal/connection"
	"github.com/component-operator/runtime/clm/internal/transfer"
)

const objectsHelp = `OBJECT is KIND[.GROUP]/[NAMESPACE/]NAME, for example deployment/web; short names such as deploy work as well. The namespace is needed only if several
objects have that name.`

func newAdoptCommand(e *environment) *cobra.Command {
	o := changeOptions{undeclared: true}
	command := &cobra.Command{
		Use:   "adopt NAME OBJECT...",
		Short: "Adopt existing objects",
		Long: `Adopt objects that the current revision of release NAME renders and that exist already, even if they have another owner or their adoption
policies forbid it. Then continue to apply the revision. Objects that the revision does not render are refused.

If an object belongs to another release, that release is not changed. To move an object from one release to another, use clm move.

clm shows what will change, and asks for confirmation. ` + askingHelp + `

` + objectsHelp,
		Annotations: exits(exitNotReady, exitRefused, exitInterrupted),
		Example:     "  clm adopt web deployment/web service/web",
		Args:        cobra.MinimumNArgs(2),
		RunE: func(command *cobra.Command, args []string) error {
			return runAdopt(command.Context(), e, o, args[0], args[1:])
		},
	}
	addChangeFlags(command.Flags(), &o)
	return command
}

func runAdopt(ctx context.Context, e *environment, o changeOptions, name string, objects []string) error {
	namespace, err := e.kube.namespace()
	if err != nil {
		return err
	}
	return o.run(ctx, e, func(s *connection.Connection, _ bool) (*apply.Plan, error) {
		return transfer.PlanAdoption(ctx, s, transfer.Request{Namespace: namespace, Name: name, Objects: objects})
	})
}
