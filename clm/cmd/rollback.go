// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/component-operator/runtime/clm/internal/operation"
	"github.com/component-operator/runtime/clm/internal/runner"
	"github.com/component-operator/runtime/pkg/reconciler"
)

func newRollbackCommand(e *environment) *cobra.Command {
	o := changeOptions{}
	adopt := choice{allowed: adoptionPolicies}
	var description string
	command := &cobra.Command{
		Use:   "rollback NAME [REVISION]",
		Short: "Return to an earlier revision of a release",
		Long: `Return release NAME to an earlier revision. REVISION defaults to the latest earlier revision that became ready, whether or not
clm waited for it.
The recorded objects of that revision are applied again, as a new revision; sources and values are not needed.

Objects that are not in that revision are deleted, unless the release has adopted them: adopted objects, which existed before the release, are orphaned instead.

To continue a rollback that has not become ready, run the same command again; that creates no further revision.`,
		Example: "  clm rollback web\n  clm rollback web 3",
		RunE: func(command *cobra.Command, args []string) error {
			revision, err := revisionIn(args)
			if err != nil {
				return err
			}
			request := operation.RollbackRequest{
				Name: args[0], Number: revision, Adoption: reconciler.AdoptionPolicy(adopt.value), Description: description, Approved: o.approved,
				Conflicts: operation.Conflicts(o.conflicts.value),
			}
			return o.run(command.Context(), e, func(s *runner.Connection, namespace string, compare bool) (*operation.Plan, error) {
				request.Namespace = namespace
				defer e.announce(comparing)()
				return operation.PlanRollback(command.Context(), s, request, compare)
			})
		},
	}
	addChangeFlags(command.Flags(), &o)
	addCancelFlag(command.Flags(), &o.Limits)
	addConflictsFlag(command.Flags(), &o.conflicts, "", " (without the flag, the field is taken unless the current revision leaves it alone)")
	addDescriptionFlag(command.Flags(), &description)
	command.Flags().Var(&adopt, "adopt", "when to adopt existing objects (default as in that revision, but not from other owners)")
	return command
}

// revisionIn returns the number of a revision, which is the second argument; 0 if there is none.
func revisionIn(args []string) (int64, error) {
	if len(args) < 2 {
		return 0, nil
	}
	revision, err := strconv.ParseInt(args[1], 10, 64)
	if err != nil || revision < 1 {
		return 0, fmt.Errorf("revision: %q is not a positive number", args[1])
	}
	return revision, nil
}
