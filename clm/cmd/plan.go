// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/component-operator/runtime/clm/internal/operation"
	"github.com/component-operator/runtime/clm/internal/releases"
)

// planOptions are what clm plan and clm diff were given.
type planOptions struct {
	name            string
	references      []string
	sources         sourceFlags
	policies        policyFlags
	diff            diffFlags
	createNamespace bool
	conflicts       choice
	maxDeletions    maxDeletions
	approved        string
	output          choice
	out             string
	exitCode        bool
	// description is for the revision that a saved plan makes.
	description string
}

func newPlanCommand(e *environment) *cobra.Command {
	o := planOptions{}
	command := &cobra.Command{
		Use:   "plan NAME SOURCE...",
		Short: "Show what clm apply would do",
		Long: `Show what clm apply would do with the same arguments, and do nothing: a line for each object that changes, or, with --diff, the changes themselves. clm asks
the server what would happen to each object, so that the plan includes defaults and the effects of webhooks. If the type or the namespace of an object is part of
the same release, the server cannot tell yet: clm then computes the change from the definition of the type, and marks it as local.

If clm apply would be refused, clm plan says why, and exits with code 4.

A plan that is saved with --out can be applied with clm apply --plan: clm then does exactly what the plan says, or nothing if an object has changed since.
`,
		Example: "  clm plan web ./chart -f values.yaml --out web.plan\n  clm apply web --plan web.plan",
		Args:    cobra.MinimumNArgs(2),
		RunE: func(command *cobra.Command, args []string) error {
			o.name, o.references = args[0], args[1:]
			// These say how to show the diff.
			o.diff.show = o.diff.show || command.Flags().Changed("unified") || command.Flags().Changed("show-secrets")
			return runPlan(command.Context(), e, o)
		},
	}
	addPlanFlags(command, &o)
	command.Flags().BoolVar(&o.diff.show, "diff", false, "show the changes as a diff")
	o.output = choice{allowed: []string{outputJSON, outputYAML, outputMarkdown}}
	command.Flags().VarP(&o.output, "output", "o", "output format: json or yaml for scripts, markdown for a pull request comment")
	command.Flags().Var(filePath(&o.out), "out", "save the plan in this `file`; it contains the objects and values of the release, including secrets")
	addDescriptionFlag(command.Flags(), &o.description)
	return command
}

func newDiffCommand(e *environment) *cobra.Command {
	o := planOptions{}
	command := &cobra.Command{
		Use:   "diff NAME SOURCE...",
		Short: "Show how the objects of a release would change",
		Long: `Show how the objects of a release would be changed by clm apply with the same arguments, as a diff of what is stored in the cluster. Values of
Secrets are masked: only their sizes, and which of them are equal, are shown.

"clm diff upgrade NAME CHART" is the same as "clm diff NAME CHART", for those who know the diff plugin of Helm.`,
		Example: "  clm diff web ./chart -f values.yaml --unified 10",
		Args:    cobra.MinimumNArgs(2),
		RunE: func(command *cobra.Command, args []string) error {
			if len(args) > 2 && args[0] == "upgrade" && releases.ValidateName(args[1]) == nil {
				// A release named upgrade may have several sources, too; then the first one needs a slash.
				args = args[1:]
			}
			o.name, o.references = args[0], args[1:]
			return runPlan(command.Context(), e, o)
		},
	}
	addPlanFlags(command, &o)
	o.diff.show, o.diff.only = true, true
	return command
}

func addPlanFlags(command *cobra.Command, o *planOptions) {
	flags := command.Flags()
	addSourceFlags(flags, &o.sources)
	rememberHooks(flags)
	addPolicyFlags(flags, &o.policies)
	addPruneFlag(flags, &o.policies)
	addDiffFlags(flags, &o.diff)
	addNamespaceFlag(flags, &o.createNamespace)
	addSourceConflictsFlag(flags, &o.conflicts)
	addDeletionFlags(flags, &o.maxDeletions, &o.approved)
	flags.BoolVar(&o.exitCode, "exit-code", false, "exit with code 2 if there are changes")
}

func runPlan(ctx context.Context, e *environment, o planOptions) error {
	namespace, err := e.kube.namespace()
	if err != nil {
		return err
	}
	request := operation.Request{
		Namespace: namespace, Name: o.name, KeepHooks: len(o.sources.hooks) == 0, Policies: o.policies.policies(), CreateNamespace: o.createNamespace,
		Description: o.description, Conflicts: conflictsOf(o.conflicts), Approved: o.approved,
	}
	if request.Sources, err = o.sources.load(ctx, e, o.references); err != nil {
		return err
	}
	s, err := e.open(ctx, false)
	if err != nil {
		return err
	}
	defer s.Close()
	done := e.announce(comparing)
	p, err := operation.PlanSources(ctx, s, request, true)
	done()
	if err != nil {
		return err
	}
	defer p.Close()
	if err := o.show(e, p); err != nil {
		return err
	}
	if err := errors.Join(o.maxDeletions.check(p), p.Refused(), conflicting(p, o.conflicts)); err != nil {
		return err
	}
	if o.out != "" {
		if err := p.Save(ctx, o.out); err != nil {
			return fmt.Errorf("saving the plan: %w", err)
		}
		fmt.Fprintf(e.err, "The plan is saved. To apply it: clm apply %s --plan %s\n", o.name, o.out)
	}
	if err := refusedByServer(p); err != nil {
		return err
	}
	if o.exitCode && (p.New || len(p.Pending()) > 0) {
		return &exitError{code: exitChanges}
	}
	return nil
}
