// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"fmt"
	"os"
	"reflect"
	"slices"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/component-operator/runtime/clm/internal/operation"
	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/clm/internal/runner"
	"github.com/component-operator/runtime/internal/display"
	"github.com/component-operator/runtime/pkg/types"
)

// revisionsIn returns the numbers of one or two revisions; nil if the arguments are sources.
func revisionsIn(args []string) []int64 {
	var numbers []int64
	for _, arg := range args {
		number, err := strconv.ParseInt(arg, 10, 64)
		_, missing := os.Stat(arg)
		if err != nil || number < 1 || missing == nil || len(args) > 2 {
			return nil
		}
		numbers = append(numbers, number)
	}
	return numbers
}

// compareRevisions shows how two recorded revisions differ; the second defaults to the current one.
func (o planOptions) compareRevisions(command *cobra.Command, e *environment, numbers []int64) error {
	var unused string
	command.Flags().Visit(func(flag *pflag.Flag) {
		if command.InheritedFlags().Lookup(flag.Name) == nil && !slices.Contains([]string{"unified", "show-secrets", "exit-code"}, flag.Name) {
			unused = flag.Name
		}
	})
	if unused != "" {
		return fmt.Errorf("flag --%s is about sources; when revisions are compared, there are none", unused)
	}
	return e.withRelease(command.Context(), o.name, func(s *runner.Connection, release *releases.Release) error {
		if current := release.Current(); len(numbers) == 1 && current != nil {
			numbers = append(numbers, current.Number)
		}
		contents := make([]releases.Content, len(numbers))
		for i, number := range numbers {
			var err error
			if contents[i], err = s.Records().Content(command.Context(), release, number); err != nil {
				return err
			}
		}
		changes := changesBetween(contents[0], contents[1])
		if err := display.WriteDiff(e.out, changes, o.diff.options(e, e.out)); err != nil {
			return err
		}
		if o.exitCode && slices.ContainsFunc(changes, func(change display.Change) bool { return change.Action != "" }) {
			return &exitError{code: exitChanges}
		}
		return nil
	})
}

// changesBetween compares the manifests of two revisions.
func changesBetween(before, after releases.Content) []display.Change {
	former := map[types.ObjectID]map[string]any{}
	for _, object := range before.Manifest {
		former[types.IDOf(object)] = operation.Compared(object)
	}
	var changes []display.Change
	for _, object := range after.Manifest {
		change := display.Change{Object: display.Text(object), Action: display.ActionUpdate, Before: former[types.IDOf(object)], After: operation.Compared(object)}
		switch {
		case change.Before == nil:
			change.Action = display.ActionCreate
		case reflect.DeepEqual(change.Before, change.After):
			change.Action = ""
		}
		delete(former, types.IDOf(object))
		changes = append(changes, change)
	}
	for _, object := range before.Manifest {
		if was := former[types.IDOf(object)]; was != nil {
			changes = append(changes, display.Change{Object: display.Text(object), Action: display.ActionDelete, Before: was})
		}
	}
	return changes
}
