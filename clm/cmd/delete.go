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
	"github.com/component-operator/runtime/clm/internal/runner"
	"github.com/component-operator/runtime/internal/display"
)

type deleteOptions struct {
	runner.Limits
	operation.DeletionRequest
	operationFlags

	// ignoreNeededBy deletes the release although others depend on it.
	ignoreNeededBy bool
	// ignoreMissing makes the command succeed if the release does not exist.
	ignoreMissing bool
}

func newDeleteCommand(e *environment) *cobra.Command {
	o := deleteOptions{}
	command := &cobra.Command{
		Use:        "delete NAME...",
		SuggestFor: []string{"rm", "remove", "destroy"},
		Aliases:    []string{"uninstall"},
		Short:      "Delete releases and their dependents",
		Long: `Delete the release NAME and its dependents, wave by wave, and wait until they are gone. Dependents whose delete policy says so are orphaned:
they stay in the cluster without an owner.

Nothing is deleted while there are foreign instances of types that the release defines (instances that it did not create): they would be deleted with their type.
Nor is anything deleted while other releases depend on this one (clm apply --depends-on), or while there are dependents with the delete policy
confirm-on-delete: clm lists them and refuses, until --approve-deletions is given.
If clm is interrupted, run the same command again to continue.

With several names, the releases are deleted one after the other, in this order, until one cannot be deleted.

clm shows what will be deleted and what will be kept, and asks for confirmation. ` + askingHelp + `

Objects of the current revision with the annotation clm.cs.sap.com/deletion-hook are applied, awaited and deleted: those with pre-delete
before the first dependent is deleted, those with post-delete after the last one is gone. Helm's pre-delete and post-delete hooks are such objects. The
release is not deleted until its hooks have succeeded. To rerun a failed hook, delete it and run the command again; --skip-hooks continues without hooks.`,
		Example: "  clm delete web\n  clm delete web db --ignore-not-found",
		RunE: func(command *cobra.Command, args []string) error {
			if err := o.check(); err != nil {
				return err
			}
			if len(args) > 1 && o.Approved != "" {
				return errors.New("flag --approve-deletions is for one release, and several are given")
			}
			for _, name := range args {
				if err := o.delete(command.Context(), e, name); err != nil {
					return err
				}
			}
			return nil
		},
	}
	flags := command.Flags()
	addOperationFlags(flags, &o.Limits, &o.operationFlags)
	flags.BoolVar(&o.SkipHooks, "skip-hooks", false, "skip the deletion hooks that are not complete; those that were applied are deleted")
	flags.BoolVar(&o.SkipHooks, "no-hooks", false, "the same as --skip-hooks")
	flags.BoolVar(&o.ignoreMissing, "ignore-not-found", false, "do nothing, and end with exit code 0, if the release does not exist")
	flags.BoolVar(&o.ignoreNeededBy, "ignore-needed-by", false, "delete the release although other releases depend on it, as clm apply --depends-on has recorded")
	flags.StringVar(&o.Approved, "approve-deletions", "",
		"approve the deletion of the objects with delete policy confirm-on-delete that a refused deletion listed; `DIGEST` is the one it printed")
	return command
}

func (o *deleteOptions) delete(ctx context.Context, e *environment, name string) error {
	return e.repeat(ctx, o.events(), func(s *runner.Connection, namespace string) error {
		o.Namespace, o.Name = namespace, name
		err := o.attempt(ctx, e, s)
		if o.ignoreMissing && errors.Is(err, releases.ErrNotFound) {
			return o.ignore(ctx, e, s, err)
		}
		return err
	})
}

// ignore drops the error about a release that does not exist, unless there are parts of its record: then it existed,
// and may have dependents.
func (o *deleteOptions) ignore(ctx context.Context, e *environment, s *runner.Connection, missing error) error {
	parts, err := s.Records().HasParts(ctx, o.Namespace, o.Name)
	if err != nil || parts {
		return errors.Join(missing, err)
	}
	fmt.Fprintf(e.err, "release %s/%s does not exist; nothing was deleted\n", o.Namespace, o.Name)
	return nil
}

func (o *deleteOptions) attempt(ctx context.Context, e *environment, s *runner.Connection) error {
	d, err := operation.PlanDeletion(ctx, s, o.DeletionRequest)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := o.findNeededBy(ctx, d); err != nil {
		return err
	}
	c := e.consent(o.yes || o.dryRun.isSet(), false)
	defer c.Close()
	if o.dryRun.isSet() || c.needed() {
		if c.needed() || o.dryRun.asksServer() {
			if err := d.FindKept(ctx); ctx.Err() != nil {
				return ctx.Err()
			} else if err != nil {
				fmt.Fprintf(e.err, "note: it is not known which namespaces will be kept: %s\n", display.Clean(err.Error()))
			}
		}
		out := e.out
		if c.needed() {
			out = c.out()
		}
		d.Write(out)
	}
	if err := d.Blocked(); err != nil || o.dryRun.isSet() {
		return err
	}
	if err := c.get(ctx, fmt.Sprintf("Delete release %s?", d.Release)); err != nil {
		return err
	}
	err = d.Delete(ctx, o.Limits)
	if !o.events() {
		e.explain(ctx, s, d.Release, err)
	}
	return shown(err)
}

// findNeededBy finds the releases that depend on the one to delete, unless the user does not care.
func (o *deleteOptions) findNeededBy(ctx context.Context, d *operation.Deletion) error {
	if o.ignoreNeededBy {
		return nil
	}
	if err := d.FindNeededBy(ctx); err != nil {
		if ctx.Err() != nil {
			return err
		}
		return releases.Refused("it is not known whether other releases depend on release %s: %s; to delete it in any case: clm delete %s -n %s --ignore-needed-by",
			d.Release, err, d.Release.Name, d.Release.Namespace)
	}
	return nil
}
