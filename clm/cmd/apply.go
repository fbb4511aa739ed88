// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"errors"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/component-operator/runtime/clm/internal/operation"
	"github.com/component-operator/runtime/clm/internal/runner"
)

// applyOptions are what clm apply was given.
type applyOptions struct {
	changeOptions

	name            string
	references      []string
	sources         sourceFlags
	policies        policyFlags
	createNamespace bool
	revertOnFailure bool
	plan            string
	hideNotes       bool
	description     string
}

func newApplyCommand(e *environment) *cobra.Command {
	o := applyOptions{}
	command := &cobra.Command{
		Use:        "apply NAME SOURCE...",
		SuggestFor: []string{"create", "deploy", "sync"},
		Aliases:    []string{"install", "upgrade"},
		Short:      "Create or change a release",
		Long: `Create or change the release NAME so that it consists of the objects that the sources render. Missing objects are created, existing ones are
updated, and those that are no longer in the manifests are deleted. This happens wave by wave, in the order that annotations define. Then wait until all objects are ready.

` + sourcesHelp + `

If there is a terminal, clm shows the changes and asks for confirmation, even if standard input or output is redirected. If nothing has changed, nothing is
applied. If clm is interrupted or killed, run the same command again to continue.

At the end, the notes of charts (NOTES.txt) are written to standard output.`,
		Example: `  clm apply web ./chart -f values.yaml
  clm apply web oci://registry.example.com/charts/web --version 1.2.3 --set replicas=3
  kustomize build . | clm apply web -`,
		Args: o.checkArgs,
		RunE: func(command *cobra.Command, args []string) error {
			o.name, o.references = args[0], args[1:]
			return runApply(command.Context(), e, o)
		},
	}
	flags := command.Flags()
	addSourceFlags(flags, &o.sources)
	rememberHooks(flags)
	addPolicyFlags(flags, &o.policies)
	addPruneFlag(flags, &o.policies)
	addDescriptionFlag(flags, &o.description)
	var planned []string
	flags.VisitAll(func(flag *pflag.Flag) { planned = append(planned, flag.Name) })
	addChangeFlags(flags, &o.changeOptions)
	addCancelFlag(flags, &o.Limits)
	addSourceConflictsFlag(flags, &o.conflicts)
	addNamespaceFlag(flags, &o.createNamespace)
	flags.BoolVar(&o.revertOnFailure, "revert-on-failure", false,
		"if it fails, return to the last revision that was ready, or delete the release if this is its first one; adopted objects are kept")
	flags.BoolVar(&o.hideNotes, "hide-notes", false, "do not show the notes of charts; clm get notes shows them later")
	flags.Var(filePath(&o.plan), "plan", "apply exactly the plan that clm plan saved in this `file`, or refuse it if it is stale")
	// A saved plan does not say whose fields it takes.
	command.MarkFlagsMutuallyExclusive("plan", "conflicts")
	// The other process has changed the release since the plan was saved, and would be ended in vain.
	command.MarkFlagsMutuallyExclusive("plan", "cancel-older")
	for _, name := range planned {
		// Their values are part of the plan.
		command.MarkFlagsMutuallyExclusive("plan", name)
	}
	return command
}

func (o *applyOptions) checkArgs(_ *cobra.Command, args []string) error {
	switch {
	case len(args) == 0:
		return errors.New("the release name is missing: clm apply NAME SOURCE")
	case o.plan == "" && len(args) < 2:
		return errors.New("a source is missing: clm apply NAME SOURCE; or give a saved plan: clm apply NAME --plan FILE")
	case o.plan != "" && len(args) > 1:
		return errors.New("a saved plan contains its sources: clm apply NAME --plan FILE")
	default:
		return nil
	}
}

func runApply(ctx context.Context, e *environment, o applyOptions) error {
	if o.revertOnFailure {
		o.Reverts = true
		o.failed = func(ctx context.Context, p *operation.Plan, failure error) error { return o.revert(ctx, e, p, failure) }
	}
	o.showNotes = !o.hideNotes
	if o.plan != "" {
		o.Exact = true
		return o.run(ctx, e, func(s *runner.Connection, namespace string, _ bool) (*operation.Plan, error) {
			p, err := operation.Load(ctx, s, o.plan, namespace, o.name, o.approved)
			if err == nil {
				p.CreateNamespace = p.CreateNamespace || o.createNamespace
			}
			return p, err
		})
	}
	request := operation.Request{
		Name: o.name, KeepHooks: len(o.sources.hooks) == 0, Policies: o.policies.policies(), CreateNamespace: o.createNamespace,
		Description: o.description, Conflicts: conflictsOf(o.conflicts), Approved: o.approved,
	}
	return o.run(ctx, e, func(s *runner.Connection, namespace string, compare bool) (_ *operation.Plan, err error) {
		request.Namespace = namespace
		if request.Sources == nil {
			if request.Sources, err = o.sources.load(ctx, e, o.references); err != nil {
				return nil, err
			}
		}
		defer e.announce(comparing)()
		return operation.PlanSources(ctx, s, request, compare)
	})
}
