// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/component-operator/runtime/clm/internal/operation"
	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/clm/internal/runner"
	"github.com/component-operator/runtime/internal/display"
)

type driftOptions struct {
	runner.Limits

	output   output
	diff     diffFlags
	heal     bool
	yes      bool
	exitCode bool
}

func newDriftCommand(e *environment) *cobra.Command {
	o := driftOptions{}
	command := &cobra.Command{
		Use:   "drift NAME",
		Short: "Show how the objects of a release have drifted",
		Long: `Show how the objects of release NAME differ from its current revision, and which field manager changed which fields, and when. The time
is when the manager last wrote the object; who removed a field is not known.

In the differences, lines with - are from the revision, and lines with + are from the cluster. Objects whose drift policy says to leave them alone are
shown as well. With --correct, clm corrects the drift of all others, after confirmation; the differences then show what the correction does: lines with - are removed,
and lines with + are restored. ` + askingHelp,
		Example: `  clm drift web
  clm drift web --correct
  clm drift web -o json --exit-code`,
		RunE: func(command *cobra.Command, args []string) error {
			return e.repeat(command.Context(), false, func(s *runner.Connection, namespace string) error {
				return o.attempt(command.Context(), e, s, namespace, args[0])
			})
		},
	}
	o.output = newOutput(command)
	flags := command.Flags()
	addLimitFlags(flags, &o.Limits)
	addDiffFlags(flags, &o.diff)
	flags.BoolVar(&o.heal, "correct", false, "correct the drift")
	flags.BoolVarP(&o.yes, "yes", "y", false, "with --correct, do not ask for confirmation")
	flags.BoolVar(&o.exitCode, "exit-code", false, "exit with code 2 if an object has drifted and was not corrected")
	return command
}

func (o *driftOptions) attempt(ctx context.Context, e *environment, s *runner.Connection, namespace, name string) error {
	done := e.announce(comparing)
	p, err := operation.PlanCurrent(ctx, s, namespace, name, true)
	done()
	if err != nil {
		return err
	}
	defer p.Close()
	drift := p.Drift()
	if err := o.print(e, p, drift); err != nil {
		return err
	}
	if o.heal && slices.ContainsFunc(drift, operation.Drift.IsCorrectable) {
		if err := p.Unapproved(); err != nil {
			return err
		}
		write := func(out io.Writer) error { return p.WriteDrift(out, drift, true, o.diff.options(e, out)) }
		if err := e.agree(ctx, o.yes, o.output, write, fmt.Sprintf("Correct the drift of release %s?", p.Release)); err != nil {
			return err
		}
		err := p.Apply(ctx, operation.Options{Limits: o.Limits})
		e.explain(ctx, s, p.Release, err)
		if err != nil {
			return shown(err)
		}
		// Correcting succeeds only if nothing was refused.
		drift = slices.DeleteFunc(drift, func(d operation.Drift) bool { return d.State != operation.DriftLeftAlone })
	}
	switch {
	case o.heal && among(drift, operation.DriftRefused):
		return releases.Refused("the drift of release %s cannot be corrected: all corrections are refused, as shown above", p.Release)
	case o.exitCode && len(drift) > 0:
		return &exitError{code: exitChanges}
	}
	return nil
}

// among reports whether an object is in one of the states.
func among(drift []operation.Drift, states ...operation.DriftState) bool {
	return slices.ContainsFunc(drift, func(d operation.Drift) bool { return slices.Contains(states, d.State) })
}

func (o *driftOptions) print(e *environment, p *operation.Plan, drift []operation.Drift) error {
	if !o.output.forPeople() {
		return printList(o.output, e.out, drift, func(i int, d operation.Drift) *unstructured.Unstructured {
			status := map[string]any{"state": d.State, "object": display.ObjectOf(d.Object)}
			addKnown(status, map[string]any{"reason": d.Reason, "refusal": d.Refusal, "changed": d.Changed})
			return resource("Drift", p.Release.Namespace, fmt.Sprintf("%s.%d", p.Release.Name, i+1), map[string]any{"status": status})
		})
	}
	if len(drift) == 0 {
		fmt.Fprintf(e.out, "release %s has not drifted from revision %d\n", p.Release, p.Revision.Number)
		return nil
	}
	return p.WriteDrift(e.out, drift, o.heal, o.diff.options(e, e.out))
}
