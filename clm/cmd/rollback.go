// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"fmt"
	"strconv"
	"strings"

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
		Use:   "rollback " + targetArgument + " [REVISION]",
		Short: "Return to an earlier revision of a release or an ObjectDeployment",
		Long: `Return release NAME to an earlier revision. REVISION defaults to the latest earlier revision that became ready, whether or not
clm waited for it.
The recorded objects of that revision are applied again, as a new revision; sources and values are not needed.

Objects that are not in that revision are deleted, unless the release has adopted them: adopted objects, which existed before the release, are orphaned instead.

To continue a rollback that has not become ready, run the same command again; that creates no further revision.

With objectdeployment/NAME, or odeploy/NAME in short, have the operator return the deployment to an earlier revision, and wait until that is complete. REVISION
defaults to the latest one before the current one that has succeeded; clm status lists them. The operator copies the spec of that set to the template of the
deployment, which creates a new set; if the template is already that of the set, the command only waits. Only the flags --timeout and --no-wait apply. If a tool
such as Argo CD or Flux applies the deployment, it will undo the rollback: change the template in its source instead.`,
		Example: "  clm rollback web\n  clm rollback web 3\n  clm rollback odeploy/web",
		RunE: func(command *cobra.Command, args []string) error {
			revision, err := revisionIn(args)
			if err != nil {
				return err
			}
			if strings.Contains(args[0], "/") {
				return rollBackObjects(command, e, args[0], revision, o.Timeout, o.Wait != "")
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
