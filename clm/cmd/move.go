// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"cmp"
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"

	"github.com/component-operator/runtime/clm/internal/operation"
	"github.com/component-operator/runtime/clm/internal/runner"
	"github.com/component-operator/runtime/internal/display"
)

type moveOptions struct {
	changeOptions

	from, to                   string
	fromNamespace, toNamespace string
}

func newMoveCommand(e *environment) *cobra.Command {
	o := moveOptions{}
	command := &cobra.Command{
		Use:   "move OBJECT... --from RELEASE --to RELEASE",
		Short: "Move objects from one release to another",
		Long: `Move objects from one release to another. Both get a new revision: one with the objects, their annotations and policies, the other without
them. The owner of an object changes in one write, so that it has exactly one owner at any time. If clm is interrupted, run the same command again to
continue.

Afterwards, change the sources accordingly: the new release deletes the objects if it is applied from sources that do not render them, and the old release
cannot be applied while its sources still render them.

clm shows what will change, and asks for confirmation. ` + askingHelp + `

` + objectsHelp,
		Example: "  clm move deployment/web service/web --from shop --to web",
		RunE: func(command *cobra.Command, args []string) error {
			if err := o.check(); err != nil {
				return err
			}
			return e.repeat(command.Context(), o.events(), func(s *runner.Connection, namespace string) error {
				from := types.NamespacedName{Namespace: cmp.Or(o.fromNamespace, namespace), Name: o.from}
				to := types.NamespacedName{Namespace: cmp.Or(o.toNamespace, namespace), Name: o.to}
				return o.attempt(command.Context(), e, s, from, to, args)
			})
		},
	}
	flags := command.Flags()
	addCourseFlags(flags, &o.changeOptions)
	flags.StringVar(&o.from, "from", "", "release that has the objects (required)")
	flags.StringVar(&o.to, "to", "", "release that gets the objects (required)")
	flags.StringVar(&o.fromNamespace, "from-namespace", "", "namespace of the release that has the objects (default that of --namespace)")
	flags.StringVar(&o.toNamespace, "to-namespace", "", "namespace of the release that gets the objects (default that of --namespace)")
	for _, required := range []string{"from", "to"} {
		_ = command.MarkFlagRequired(required)
	}
	command.ValidArgsFunction = func(command *cobra.Command, args []string, toComplete string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if o.from == "" {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return argumentsCompleter(e, []string{"NAME", "OBJECT..."})(command, append([]string{o.from}, args...), toComplete)
	}
	return command
}

func (o *moveOptions) attempt(ctx context.Context, e *environment, s *runner.Connection, from, to types.NamespacedName, objects []string) error {
	c := e.consent(o.yes || o.dryRun.isSet(), false)
	defer c.Close()
	// Only the server knows the owner of an object that one of the releases does not have.
	t, err := operation.PlanMove(ctx, s, from, to, objects, c.needed() || o.diff.show || o.dryRun.isSet())
	if err != nil {
		return err
	}
	defer t.Close()
	if o.dryRun.isSet() {
		return o.show(e, e.out, t)
	}
	if c.needed() || o.diff.show {
		if err := o.show(e, c.out(), t); err != nil {
			return err
		}
	}
	if err := c.get(ctx, fmt.Sprintf("Move %s from release %s to release %s?", display.Count(len(t.Objects), "object"), t.From.Release, t.To.Release)); err != nil {
		return err
	}
	err = t.Move(ctx, o.Options)
	if !o.events() {
		e.explain(ctx, s, t.To.Release, err)
	}
	return shown(err)
}

// show lists the objects that are handed over, and what happens in both releases.
func (o *moveOptions) show(e *environment, out io.Writer, t *operation.Transfer) error {
	writeWrapped(out, "", fmt.Sprintf("These objects will be moved from release %s to release %s:", t.From.Release, t.To.Release))
	display.WriteNames(out, display.NamesFor(out, t.To.Release.Namespace, t.Objects), t.Objects)
	for _, p := range []*operation.Plan{t.To, t.From} {
		if err := showPlan(e, out, p, o.diff); err != nil {
			return err
		}
	}
	return nil
}
