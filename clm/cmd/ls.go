// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/component-operator/runtime/clm/internal/live"
	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/clm/internal/runner"
	"github.com/component-operator/runtime/clm/internal/views"
	"github.com/component-operator/runtime/internal/concurrent"
	"github.com/component-operator/runtime/internal/display"
)

type lsOptions struct {
	output output
	all    bool
	short  bool
	states choices
	// selector and filter select by labels and names.
	selector labels.Selector
	filter   *regexp.Regexp
}

func newLsCommand(e *environment) *cobra.Command {
	o := lsOptions{selector: labels.Everything(), filter: regexp.MustCompile(""), states: choices{allowed: []string{
		string(releases.StateApplying), string(releases.StateReady), string(views.StateDegraded), string(releases.StateFailed), string(releases.StateDeleting),
	}}}
	command := &cobra.Command{
		Use:     "ls",
		Aliases: []string{"list"},
		Short:   "List releases",
		Long: `List the releases of a namespace, or of all, with the states in their records. Ready means that the current revision was ready when it was last applied, or
has become ready since without a process waiting for that.

With --state Degraded, clm also reads the dependents of these releases, and lists those of which not all are ready now, as clm status does. A release whose record cannot
be used has no state: it is listed only without --state.`,
		Example: "  clm ls -A --state Failed",
		RunE: func(command *cobra.Command, _ []string) error {
			return e.withScope(command.Context(), o.all, func(s *runner.Connection, namespace string) error {
				return o.list(command.Context(), e, s, namespace)
			})
		},
	}
	o.output = newOutput(command)
	command.Flags().BoolVarP(&o.all, "all-namespaces", "A", false, "list the releases in all namespaces")
	command.Flags().BoolVarP(&o.short, "short", "q", false, "print only names")
	command.Flags().VarP(flagValue[labels.Selector]{"selector", &o.selector, func(text string) (labels.Selector, error) { return labels.Parse(text) }},
		"selector", "l", "list only releases with these labels, such as team=shop,env!=test")
	command.Flags().Var(flagValue[*regexp.Regexp]{"expression", &o.filter, regexp.Compile}, "filter", "list only releases whose names match this regular expression")
	command.Flags().Var(&o.states, "state", "list only releases in this state: "+strings.Join(o.states.allowed, ", ")+" (may be repeated)")
	return command
}

// list lists the releases in a namespace; in all namespaces if that is empty.
func (o *lsOptions) list(ctx context.Context, e *environment, s *runner.Connection, namespace string) error {
	found, err := s.Records().List(ctx, namespace, o.selector)
	if err != nil {
		return err
	}
	found = slices.DeleteFunc(found, func(release *releases.Release) bool {
		return !o.filter.MatchString(release.Name)
	})
	if err := o.judge(ctx, e, s, found); err != nil {
		return err
	}
	found = slices.DeleteFunc(found, func(release *releases.Release) bool { return !o.states.wants(string(release.State)) })
	if o.short {
		for _, release := range found {
			fmt.Fprintln(e.out, release.Name)
		}
		return nil
	}
	slices.SortFunc(found, func(a, b *releases.Release) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	if len(found) == 0 && o.output.forPeople() {
		fmt.Fprintln(e.err, nothingFound(namespace, o.states.values))
		return nil
	}
	return o.print(e, found)
}

func (o *lsOptions) print(e *environment, found []*releases.Release) error {
	if !o.output.forPeople() {
		return printList(o.output, e.out, found, func(_ int, release *releases.Release) *unstructured.Unstructured {
			return resource("Release", release.Namespace, release.Name, releaseContent(release))
		})
	}
	return printReleases(e, found, o.all)
}

// judge reads the dependents of releases whose recorded state may be outdated: those being applied, which may have
// become ready since, and, if degraded releases are requested, those recorded as ready.
func (o *lsOptions) judge(ctx context.Context, e *environment, s *runner.Connection, found []*releases.Release) error {
	const atOnce = 4 // releases
	notes := make([][]display.Note, len(found))
	err := concurrent.Each(atOnce, found, func(i int, release *releases.Release) error {
		isApplying := release.State == releases.StateApplying
		if !isApplying && !(release.State == releases.StateReady && slices.Contains(o.states.values, string(views.StateDegraded))) {
			return nil
		}
		snapshot, err := views.Look(ctx, s, release.Namespace, release.Name, live.NoReasons)
		if err != nil && isApplying && ctx.Err() == nil {
			// The record suffices for a list.
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading the dependents of release %s: %w", release, err)
		}
		if takeState(release, snapshot) {
			notes[i] = snapshot.Notes
		}
		return nil
	})
	noted := map[string]bool{}
	for _, note := range slices.Concat(notes...) {
		noted[note.String()] = true
	}
	for _, note := range slices.Sorted(maps.Keys(noted)) {
		fmt.Fprintln(e.err, display.Clean(note))
	}
	return err
}

// takeState sets the state and the message of a release from a snapshot, and reports whether the release is degraded.
func takeState(release *releases.Release, snapshot *views.Snapshot) (degraded bool) {
	if snapshot.Release == nil {
		return false
	}
	state := snapshot.State()
	if state == views.StateDegraded {
		release.State, release.Message = state, "not ready: "+dependentsText(snapshot.Problems())
	}
	if state == releases.StateReady {
		release.State, release.Message = state, ""
	}
	return state == views.StateDegraded
}

// dependentsText names the first of several dependents, and counts the others.
func dependentsText(nodes []*display.Node) string {
	switch len(nodes) {
	case 0:
		return "some dependents are not applied"
	case 1:
		return nodes[0].String()
	default:
		return fmt.Sprintf("%s and %d more", nodes[0], len(nodes)-1)
	}
}

func nothingFound(namespace string, states []string) string {
	text := "no releases"
	if len(states) > 0 {
		text += " in state " + strings.Join(states, " or ")
	}
	if namespace == "" {
		return text + " found"
	}
	return text + " found in namespace " + namespace
}

func printReleases(e *environment, found []*releases.Release, namespaces bool) error {
	columns := []display.Column{
		{Header: "NAME", Fit: display.Middle},
		{Header: "REVISION"},
		{Header: "STATE"},
		{Header: "DEPENDENTS", Spare: true},
		{Header: "UPDATED", Spare: true},
		{Header: "SOURCE", Fit: display.Middle},
		{Header: "MESSAGE", Fit: display.Below},
	}
	if namespaces {
		columns = slices.Insert(columns, 0, display.Column{Header: "NAMESPACE", Fit: display.Middle})
	}
	table, limit := newTable(e.out, columns...), display.Limit(e.out)
	for _, release := range found {
		revision, sources := "", ""
		if current := release.Current(); current != nil {
			revision, sources = fmt.Sprint(current.Number), releases.SourceTexts(current.Sources)
		}
		cells := []string{release.Name, revision, string(release.State), fmt.Sprint(release.Items()), display.KnownAge(release.Updated, time.Now())}
		cells = append(cells, sources, briefly(display.OneText(release.Text()), limit))
		if namespaces {
			cells = slices.Insert(cells, 0, release.Namespace)
		}
		table.AddTexts(cells...)
	}
	return table.Write(e.out)
}

// briefly shortens a message to a line of a terminal; clm status shows all of it.
func briefly(message string, limit int) string {
	if limit <= len(display.BelowIndent) {
		return message
	}
	return display.Truncate(message, limit-len(display.BelowIndent))
}

// releaseContent returns the machine-readable form of a release.
func releaseContent(release *releases.Release) map[string]any {
	status := map[string]any{"state": release.State, "dependents": release.Items()}
	addKnown(status, map[string]any{
		"message": release.Message, "problem": release.Problem, "deletionStage": release.DeletionStage, "awaited": release.Awaited(),
		"updated": timestamp(release.Updated),
	})
	if current := release.Current(); current != nil {
		status["revision"] = revisionContent(*current)
	}
	metadata := map[string]any{}
	addKnown(metadata, map[string]any{"creationTimestamp": timestamp(release.Created)})
	return map[string]any{"metadata": metadata, "status": status}
}

// revisionContent returns the machine-readable form of a revision.
func revisionContent(revision releases.Revision) map[string]any {
	content := map[string]any{
		"number": revision.Number, "state": revision.State, "created": timestamp(revision.Created),
		"description": revision.Description, "objects": revision.Objects,
	}
	addKnown(content, map[string]any{
		"canceledBy": revision.CanceledBy, "failure": revision.FailureText(), "hooks": strings.Join(revision.Hooks, ","), "sources": revision.Sources, "dependsOn": revision.DependsOn,
		"labels": revision.Labels, "by": revision.By,
	})
	return content
}
