// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/component-operator/runtime/clm/internal/operation"
	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/clm/internal/runner"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/types"
)

// applyOptions are the options of clm apply.
type applyOptions struct {
	changeOptions
	releaseOptions

	revertOnFailure bool
	plan            string
}

// releaseOptions specify the desired release.
type releaseOptions struct {
	name            string
	sources         sourceFlags
	policies        policyFlags
	createNamespace bool
	description     string
	dependsOn       []string
	dependsOnGiven  func() bool
	labels          labels.Set
	reuseValues     bool
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
			o.name, o.sources.references = args[0], args[1:]
			return runApply(command.Context(), e, o)
		},
	}
	flags := command.Flags()
	o.addReleaseFlags(flags)
	addDescriptionFlag(flags, &o.description)
	var planned []string
	flags.VisitAll(func(flag *pflag.Flag) { planned = append(planned, flag.Name) })
	addChangeFlags(flags, &o.changeOptions)
	addCancelFlag(flags, &o.Limits)
	o.addClusterFlags(flags, &o.conflicts)
	flags.BoolVar(&o.revertOnFailure, "revert-on-failure", false,
		"if it fails, return to the last revision that was ready, or delete the release if this is its first one; adopted objects are kept")
	flags.BoolVar(&o.hideNotes, "hide-notes", false, "do not show the notes of charts; clm get notes shows them later")
	flags.Var(filePath(&o.plan), "plan", "apply exactly the plan that clm plan saved in this `file`, or refuse it if it is stale")
	// A saved plan does not contain the owners of the fields that it takes.
	command.MarkFlagsMutuallyExclusive("plan", "conflicts")
	// The other process has changed the release since the plan was saved. Ending it would not make the plan valid.
	command.MarkFlagsMutuallyExclusive("plan", "cancel-older")
	for _, name := range planned {
		// Their values are part of the plan.
		command.MarkFlagsMutuallyExclusive("plan", name)
	}
	return command
}

// addReleaseFlags adds the flags that specify the desired release.
func (o *releaseOptions) addReleaseFlags(flags *pflag.FlagSet) {
	addSourceFlags(flags, &o.sources)
	flags.Lookup("hooks").Usage = hooksUsage + "; 'none' turns this off (default as in the last apply)"
	addPolicyFlags(flags, &o.policies)
	o.policies.prune = choice{value: types.PrunePolicyDelete, allowed: []string{types.PrunePolicyDelete, types.PrunePolicyConfirm, pruneReport}}
	flags.StringSliceVar(&o.dependsOn, "depends-on", nil,
		"`release` in the same namespace that must be ready before this one is applied, and must not be deleted before it (may be repeated; default as in the "+
			"last apply; --depends-on= ends it)")
	o.dependsOnGiven = func() bool { return flags.Changed("depends-on") }
	flags.Var(labelSet(&o.labels), "labels",
		"`labels` of the release, such as team=shop,env=null, for clm ls --selector; they are added to those of the last apply, and null removes one")
	flags.BoolVar(&o.reuseValues, "reset-then-reuse-values", false,
		"use the values of the last apply, and override them with those that are given; what neither has comes from the chart (default only those that are given)")
	flags.BoolVar(&o.sources.strict, "strict", false, strictUsage)
	flags.Var(&o.policies.prune, "prune",
		"what to do with objects that are no longer in the manifests: delete them, delete them after --approve-deletions, or keep and report them")
}

// addClusterFlags adds the flags for conflicts and for the creation of the namespace.
func (o *releaseOptions) addClusterFlags(flags *pflag.FlagSet, conflicts *choice) {
	addConflictsFlag(flags, conflicts, "keep leaves it alone, now and later, unless the manifest has changed it; ",
		" (without the flag, the field is taken unless an earlier keep has left it alone)")
	flags.BoolVar(&o.createNamespace, "create-namespace", false, "create the namespace of the release if it does not exist")
}

func (o *applyOptions) checkArgs(command *cobra.Command, args []string) error {
	apply := command.CommandPath()
	switch {
	case len(args) == 0:
		return fmt.Errorf("the release name is missing: %s NAME SOURCE", apply)
	case o.plan == "" && len(args) < 2:
		return fmt.Errorf("a source is missing: %[1]s NAME SOURCE; or give a saved plan: %[1]s NAME --plan FILE", apply)
	case o.plan != "" && len(args) > 1:
		return fmt.Errorf("a saved plan contains its sources: %s NAME --plan FILE", apply)
	default:
		return nil
	}
}

func runApply(ctx context.Context, e *environment, o applyOptions) error {
	if o.revertOnFailure {
		o.Reverts = true
		o.failed = func(ctx context.Context, p *operation.Plan, failure error) error { return o.revert(ctx, e, p, failure) }
	}
	o.strict = o.sources.strict
	await := &o.Timeout
	if o.dryRun.isSet() {
		await = nil
	}
	if o.plan != "" {
		o.Exact = true
		return o.run(ctx, e, func(s *runner.Connection, namespace string, _ bool) (*operation.Plan, error) {
			raw, err := os.ReadFile(o.plan)
			if err != nil {
				return nil, fmt.Errorf("reading the plan: %w", err)
			}
			p, err := operation.Load(ctx, s, raw, o.plan, namespace, o.name, o.approved)
			if err != nil {
				return nil, err
			}
			p.CreateNamespace = p.CreateNamespace || o.createNamespace
			if err := p.AwaitDependencies(ctx, p.Revision.DependsOn, await); err != nil {
				p.Close()
				return nil, err
			}
			return p, nil
		})
	}
	request := o.request(o.planFlags)
	request.Announce = func() func() { return e.announce(comparing) }
	request.Await = await
	return o.run(ctx, e, func(s *runner.Connection, namespace string, compare bool) (_ *operation.Plan, err error) {
		request.Namespace = namespace
		if request.Sources == nil {
			if request.Sources, err = o.sources.load(ctx, e); err != nil {
				return nil, err
			}
			e.noteUnknown(o.sources.unknown)
		}
		return operation.PlanSources(ctx, s, request, compare)
	})
}

// request returns the request for the release, without its namespace and sources.
func (o *releaseOptions) request(flags planFlags) operation.Request {
	dependsOn := slices.DeleteFunc(o.dependsOn, func(name string) bool { return name == "" })
	if o.dependsOnGiven() && dependsOn == nil {
		dependsOn = []string{}
	}
	return operation.Request{
		DependsOn: dependsOn, Labels: o.labels, ReuseValues: o.reuseValues,
		Name: o.name, KeepHooks: len(o.sources.hooks) == 0, Policies: o.policies.policies(), CreateNamespace: o.createNamespace,
		Description: o.description, Conflicts: operation.Conflicts(flags.conflicts.value), Approved: flags.approved,
	}
}

// revert returns to the last revision that was ready after a plan has failed, or deletes the release if there is none.
// The command has failed in any case.
func (o *applyOptions) revert(ctx context.Context, e *environment, p *operation.Plan, failure error) error {
	p.Close()
	// A process that has changed the release since then has seen the failure.
	o.CancelOlder = false
	ready := p.Release.LastReady()
	if !p.NeverReady() {
		// The revision was ready before, so it is still the desired one.
		return shown(failure)
	}
	obstacle := ""
	switch {
	case ready != nil:
	case p.Revision.Installed:
		obstacle = "it was first applied by an earlier revision, which is no longer recorded"
	case cmp.Or(p.Revision.Basis, p.Revision.Number) > 1:
		obstacle = "it has earlier revisions, whose objects may be in use"
	}
	if obstacle != "" {
		return errors.Join(failure, fmt.Errorf("release %s was not deleted: %s; fix the sources and apply them again, or: clm delete %s -n %s",
			p.Release, obstacle, p.Release.Name, p.Release.Namespace))
	}
	s, err := e.open(ctx, o.events())
	if err != nil {
		return unreverted(ctx, p, failure, err)
	}
	defer s.Close()
	limits := o.Limits
	limits.Instead = "To " + insteadOfRevert(p)
	if ready == nil {
		d, err := operation.PlanDeletion(ctx, s, operation.DeletionRequest{Namespace: p.Release.Namespace, Name: p.Release.Name, Failed: p})
		if err != nil {
			return unreverted(ctx, p, failure, err)
		}
		defer d.Close()
		err = d.Delete(ctx, limits)
		o.sayReverted(e, err, fmt.Sprintf("revision %d has failed; the release was deleted", p.Revision.Number))
		return concluded(ctx, failure, err)
	}
	back, err := operation.PlanRollback(ctx, s, operation.RollbackRequest{Namespace: p.Release.Namespace, Name: p.Release.Name, Number: ready.Number, Failed: p}, false)
	if err != nil {
		return unreverted(ctx, p, failure, err)
	}
	defer back.Close()
	if err := back.Unapproved(); err != nil {
		return unreverted(ctx, p, failure, err)
	}
	err = back.Apply(ctx, operation.Options{Limits: limits, HistoryMax: o.HistoryMax, HistoryMaxBytes: o.HistoryMaxBytes})
	o.sayReverted(e, err, fmt.Sprintf("revision %d has failed; in force is revision %d, with the objects of revision %d", p.Revision.Number, back.Revision.Number, ready.Number))
	return concluded(ctx, failure, err)
}

// sayReverted prints the result of a successful revert as the last line, unless the output is for programs.
func (o *applyOptions) sayReverted(e *environment, err error, text string) {
	if err == nil && !o.events() {
		fmt.Fprintln(e.err, text)
	}
}

// unreverted returns the error of a command that could not begin to revert a failure. The failure determines the exit
// code, unless the command was interrupted: then the error describes how to revert.
func unreverted(ctx context.Context, p *operation.Plan, failure, err error) error {
	if !isInterrupted(ctx, err) {
		return errors.Join(failure, notReverted(err))
	}
	return fmt.Errorf("%w before revision %d was reverted; to %s", &releases.InterruptedError{}, p.Release.Current().Number, insteadOfRevert(p))
}

// insteadOfRevert describes how to revert a failed plan without the command that applied it. A revert of a first
// installation keeps the objects that it adopted; clm delete would delete them.
func insteadOfRevert(p *operation.Plan) string {
	ready := p.Release.LastReady()
	switch {
	case ready != nil:
		return fmt.Sprintf("return to revision %d: clm rollback %s %d -n %s", ready.Number, p.Release.Name, ready.Number, p.Release.Namespace)
	case slices.ContainsFunc(p.Release.Inventory, func(item *reconciler.InventoryItem) bool { return item.Adopted }):
		return "keep the objects that existed before the release, do not delete it: fix the sources and apply them again"
	default:
		return fmt.Sprintf("delete the release: clm delete %s -n %s", p.Release.Name, p.Release.Namespace)
	}
}

// isInterrupted reports whether an error comes from an interrupt by the user.
func isInterrupted(ctx context.Context, err error) bool {
	return ctx.Err() != nil && (is[*releases.InterruptedError](err) || errors.Is(err, context.Canceled))
}

// notReverted returns the reason why nothing was reverted, without its type: the failure determines the exit code.
func notReverted(err error) error {
	return fmt.Errorf("reverting the failed revision: %s", err) //nolint:errorlint // what it is must not be seen any more
}

// concluded returns the error of a command that has reverted a failure. The failure determines the exit code, unless
// the revert was interrupted or canceled: then the user or another process must continue.
func concluded(ctx context.Context, failure, reverting error) error {
	if is[*releases.InterruptedError](reverting) || isInterrupted(ctx, reverting) {
		return shown(reverting)
	}
	if releases.IsChanged(reverting) {
		// The command must not start again, which would apply the failed revision once more.
		reverting = notReverted(reverting)
	}
	return errors.Join(shown(failure), reverting)
}
