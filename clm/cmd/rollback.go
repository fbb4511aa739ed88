// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/component-operator/runtime/clm/internal/apply"
	"github.com/component-operator/runtime/clm/internal/connection"
	"github.com/component-operator/runtime/pkg/reconciler"
)

func newRollbackCommand(e *environment) *cobra.Command {
	o := changeOptions{}
	adopt := choice{allowed: adoptionPolicies}
	command := &cobra.Command{
		Use:   "rollback NAME [REVISION]",
		Short: "Return to an earlier revision of a release",
		Long: `Make release NAME what it was in an earlier revision. REVISION defaults to the newest one before the current one that was ready, whether or
not anybody waited for that. The result is a new revision. What was generated then is applied again; sources and values are not needed.

What that revision does not have is deleted, unless the release has adopted it: what was there before stays, without an owner.

A rollback that has not become ready is continued by the same command; that is no further revision.`,
		Annotations: exits(exitNotReady, exitRefused, exitInterrupted),
		Example:     "  clm rollback web\n  clm rollback web 3",
		Args:        cobra.RangeArgs(1, 2),
		RunE: func(command *cobra.Command, args []string) error {
			var revision int64
			if len(args) > 1 {
				var err error
				if revision, err = strconv.ParseInt(args[1], 10, 64); err != nil || revision < 1 {
					return fmt.Errorf("revision: %q is not a positive number", args[1])
				}
			}
			return runRollback(command.Context(), e, o, apply.RollbackRequest{
				Name: args[0], Number: revision, Adoption: reconciler.AdoptionPolicy(adopt.value),
			})
		},
	}
	addChangeFlags(command.Flags(), &o)
	command.Flags().Var(&adopt, "adopt", "whether objects that exist already are taken over (default as in that revision, but from their owners only if that is said here)")
	return command
}

func runRollback(ctx context.Context, e *environment, o changeOptions, request apply.RollbackRequest) error {
	var err error
	if request.Namespace, err = e.kube.namespace(); err != nil {
		return err
	}
	return o.run(ctx, e, func(s *connection.Connection, compare bool) (*apply.Plan, error) {
		return apply.PlanRollback(ctx, s, request, compare)
	})
}
