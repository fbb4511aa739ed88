// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/component-operator/runtime/clm/internal/session"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/types"
)

type deleteOptions struct {
	session.Limits

	name   string
	yes    bool
	dryRun bool
	output choice
}

func newDeleteCommand(e *environment) *cobra.Command {
	o := deleteOptions{output: choice{allowed: []string{outputJSON}}}
	command := &cobra.Command{
		Use:     "delete NAME",
		Aliases: []string{"uninstall"},
		Short:   "Delete a release and its dependents",
		Long: `Delete the release NAME and its dependents, wave by wave, and wait until they are gone. Dependents whose delete policy says so stay, and belong
to nobody then.

As long as there are foreign instances of types that exist only because of the release, nothing is deleted: they would go with it.
On a terminal it is shown what goes and what stays, and has to be confirmed. If it is interrupted, the same command goes on.`,
		Annotations: exits(exitNotReady, exitRefused, exitInterrupted),
		Example:     "  clm delete web",
		Args:        cobra.ExactArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			o.name = args[0]
			return runDelete(command.Context(), e, o)
		},
	}
	flags := command.Flags()
	addLimitFlags(flags, &o.Limits)
	flags.BoolVarP(&o.yes, "yes", "y", false, "do not ask for a confirmation")
	flags.BoolVar(&o.dryRun, "dry-run", false, "show what goes and what stays, and do nothing")
	flags.VarP(&o.output, "output", "o", "write one event per line to standard output while it goes on")
	return command
}

func runDelete(ctx context.Context, e *environment, o deleteOptions) error {
	namespace, err := e.kube.namespace()
	if err != nil {
		return err
	}
	s, err := e.open(o.output.value == outputJSON && !o.dryRun)
	if err != nil {
		return err
	}
	defer s.Close()
	for attempt := 1; ; attempt++ {
		err := o.attempt(ctx, e, s, namespace)
		if !session.IsChanged(err) || attempt == attempts {
			return err
		}
	}
}

func (o *deleteOptions) attempt(ctx context.Context, e *environment, s *session.Session, namespace string) error {
	d, err := s.PlanDeletion(ctx, namespace, o.name)
	if err != nil {
		return err
	}
	defer d.Close()
	asks := !o.yes && !o.dryRun && e.interactive()
	switch {
	case o.dryRun:
		showDeletion(e.out, d)
	case asks:
		showDeletion(e.err, d)
	}
	if err := d.Blocked(); err != nil || o.dryRun {
		return err
	}
	if asks {
		if err := e.confirm(ctx, fmt.Sprintf("Delete release %s?", d.Release)); err != nil {
			return err
		}
	}
	return shown(s.Delete(ctx, d, o.Limits))
}

// showDeletion lists what goes and what stays.
func showDeletion(out io.Writer, d *session.Deletion) {
	for _, part := range []struct {
		heading string
		items   []*reconciler.InventoryItem
	}{{"These objects are deleted:", d.Goes}, {"These objects stay, and belong to nobody:", d.Stays}} {
		if len(part.items) == 0 {
			continue
		}
		fmt.Fprintln(out, part.heading)
		for _, item := range part.items {
			fmt.Fprintf(out, "  %s\n", types.ObjectText(item.GroupVersionKind().GroupKind(), item.Namespace, item.Name))
		}
	}
}
