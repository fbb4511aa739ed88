// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"github.com/spf13/cobra"

	"github.com/component-operator/runtime/clm/internal/operation"
	"github.com/component-operator/runtime/clm/internal/runner"
)

const objectsHelp = `OBJECT is KIND[.GROUP]/[NAMESPACE/]NAME, for example deployment/web; short names such as deploy work as well. The namespace is needed only if several
objects have that name.`

func newAdoptCommand(e *environment) *cobra.Command {
	o := adoptOptions{changeOptions: changeOptions{undeclared: true}}
	command := &cobra.Command{
		Use:        "adopt NAME [OBJECT...]",
		SuggestFor: []string{"import"},
		Short:      "Adopt existing objects, or a release of Helm",
		Long: `Adopt objects that the current revision of release NAME renders and that already exist, even if they have another owner or their adoption
policies forbid it. Then continue to apply the revision. Objects that the revision does not render are refused.

If an object belongs to another release, that release is not changed. To move an object from one release to another, use clm move.

With --from-helm, adopt the Helm release NAME instead, as a release with the same name: its revisions with their numbers, values and objects become revisions of
clm, and its objects get the marks of clm instead of those of Helm. Hooks do not run. Objects that do not have the marks of the Helm release, and have another
owner, are refused. If clm is interrupted, run the same command again to continue.

Helm knows the release until its record is deleted: until then, helm upgrade changes the objects, and helm uninstall may delete them. With --delete-helm-record,
clm deletes the record when everything is ready.

clm shows what will change, and asks for confirmation. ` + askingHelp + `

` + objectsHelp,
		Example: `  clm adopt web deployment/web service/web
  clm adopt web --from-helm --delete-helm-record`,
		Args: func(_ *cobra.Command, args []string) error { return o.checkArguments(args) },
		RunE: func(command *cobra.Command, args []string) error {
			if o.fromHelm {
				return runAdoptFromHelm(command.Context(), e, o, args[0])
			}
			return o.run(command.Context(), e, func(s *runner.Connection, namespace string, _ bool) (*operation.Plan, error) {
				request := operation.HandoverRequest{Namespace: namespace, Name: args[0], Objects: args[1:], Approved: o.approved}
				return operation.PlanAdoption(command.Context(), s, request)
			})
		},
	}
	addChangeFlags(command.Flags(), &o.changeOptions)
	addConflictsFlag(command.Flags(), &o.conflicts, "", "")
	command.Flags().BoolVar(&o.fromHelm, "from-helm", false, "adopt the release of Helm with this name")
	command.Flags().BoolVar(&o.deleteRecord, "delete-helm-record", false, "with --from-helm, delete Helm's record of the release in the end, so that Helm does not know it any more")
	return command
}
