// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/component-operator/runtime/clm/internal/display"
	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/clm/internal/runner"
	"github.com/component-operator/runtime/internal/texts"
)

func newHistoryCommand(e *environment) *cobra.Command {
	var printed output
	command := &cobra.Command{
		Use:     "history NAME",
		Short:   "List the revisions of a release",
		Example: "  clm history web",
		Args:    cobra.ExactArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			return runHistory(command.Context(), e, args[0], printed)
		},
	}
	printed = newOutput(command)
	return command
}

func runHistory(ctx context.Context, e *environment, name string, printed output) error {
	release, err := e.release(ctx, name)
	if err != nil {
		return err
	}
	if !printed.forPeople() {
		objects := make([]*unstructured.Unstructured, len(release.Revisions))
		for i, revision := range release.Revisions {
			objects[i] = resource("Revision", release.Namespace, fmt.Sprintf("%s.%d", release.Name, revision.Number), map[string]any{"status": revisionContent(revision)})
		}
		return printed.printList(e.out, objects)
	}
	table := newTable(e.out, display.Column{Header: "REVISION"}, display.Column{Header: "STATE"}, display.Column{Header: "OBJECTS", Spare: true}, display.Column{Header: "AGE"},
		display.Column{Header: "SOURCE", Fit: display.Middle}, display.Column{Header: "DESCRIPTION", Fit: display.End})
	for _, revision := range release.Revisions {
		table.AddTexts(fmt.Sprint(revision.Number), string(revision.State), fmt.Sprint(revision.Objects), age(revision.Created, time.Now()),
			sourceTexts(revision.Sources), descriptionText(revision))
	}
	return table.Write(e.out)
}

// maxReason is the number of bytes of the reason of a failure in the table.
const maxReason = 120

// descriptionText says what has brought a revision about, and what has ended it before it was ready.
func descriptionText(revision releases.Revision) string {
	end := ""
	switch {
	case revision.CanceledBy != "":
		end = "canceled by a newer " + revision.CanceledBy
	case failureOf(revision) != "":
		reason := strings.TrimPrefix(strings.Join(strings.Fields(failureOf(revision)), " "), "failed: ")
		end = "failed: " + texts.Truncate(reason, maxReason)
	}
	return strings.TrimSuffix(strings.TrimPrefix(revision.Description+"; "+end, "; "), "; ")
}

// failureOf says why a revision has failed; empty if it has not, or if it is not known.
func failureOf(revision releases.Revision) string {
	if revision.State != releases.RevisionFailed {
		return ""
	}
	return revision.Failure
}

// release reads the record of a release in the namespace of the command line.
func (e *environment) release(ctx context.Context, name string) (*releases.Release, error) {
	s, release, err := e.openRelease(ctx, name)
	if err != nil {
		return nil, err
	}
	s.Close()
	return release, nil
}

// openRelease connects to the cluster and reads a release. The connection is to be closed.
func (e *environment) openRelease(ctx context.Context, name string) (*runner.Connection, *releases.Release, error) {
	s, namespace, err := e.connect(ctx, false)
	if err != nil {
		return nil, nil, err
	}
	release, err := s.Release(ctx, namespace, name)
	if err != nil {
		s.Close()
		return nil, nil, err
	}
	return s, release, nil
}
