// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"cmp"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/clm/internal/runner"
	"github.com/component-operator/runtime/internal/display"
)

func newHistoryCommand(e *environment) *cobra.Command {
	command := &cobra.Command{
		Use:     "history NAME",
		Short:   "List the revisions of a release",
		Long:    "List the revisions of a release, the current one last, with when and by whom each was applied.",
		Example: "  clm history web --max 5",
	}
	printed, most := newOutput(command), 0
	command.Flags().Var(number(&most, 0), "max", "`number` of revisions to list, the newest ones; 0 means all")
	command.RunE = func(command *cobra.Command, args []string) error {
		return e.withRelease(command.Context(), args[0], func(_ *runner.Connection, release *releases.Release) error {
			if surplus := len(release.Revisions) - most; most > 0 && surplus > 0 {
				release.Revisions = release.Revisions[surplus:]
			}
			return printHistory(e, release, printed)
		})
	}
	return command
}

func printHistory(e *environment, release *releases.Release, printed output) error {
	if !printed.forPeople() {
		return printList(printed, e.out, release.Revisions, func(_ int, revision releases.Revision) *unstructured.Unstructured {
			name := fmt.Sprintf("%s.%d", release.Name, revision.Number)
			return resource("Revision", release.Namespace, name, map[string]any{"status": revisionContent(revision)})
		})
	}
	table := newTable(e.out, display.Column{Header: "REVISION"}, display.Column{Header: "STATE"}, display.Column{Header: "OBJECTS", Spare: true}, display.Column{Header: "APPLIED"},
		display.Column{Header: "BY", Fit: display.Middle, Spare: true}, display.Column{Header: "SOURCE", Fit: display.Middle}, display.Column{Header: "DESCRIPTION", Fit: display.End})
	for _, revision := range release.Revisions {
		table.AddTexts(fmt.Sprint(revision.Number), string(revision.State), fmt.Sprint(revision.Objects), timestamp(revision.Created),
			cmp.Or(revision.By, "-"), releases.PinnedTexts(revision.Sources), revision.Describe())
	}
	return table.Write(e.out)
}
