// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/component-operator/runtime/clm/internal/live"
	"github.com/component-operator/runtime/clm/internal/operation"
	"github.com/component-operator/runtime/clm/internal/releasefile"
	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/clm/internal/sources"
	"github.com/component-operator/runtime/clm/internal/views"
	"github.com/component-operator/runtime/internal/concurrent"
	"github.com/component-operator/runtime/internal/display"
	"github.com/component-operator/runtime/internal/helm/remote"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/types"
)

// newUpPlanCommand returns clm up plan, or clm up diff.
func newUpPlanCommand(e *environment, diff bool) *cobra.Command {
	o := planOptions{}
	var file fileFlags
	command := &cobra.Command{
		Use:   "plan",
		Short: "Show what clm up would do",
		Long: `Show what clm up would do with the same arguments, and do nothing. Releases whose plan depends on others, because these define types or namespaces that do not
exist yet, may have no plan; clm up makes it when it is their turn. If clm up would be refused, the exit code is 4.`,
		Example: "  clm up plan -f releases.yaml -o markdown",
	}
	if diff {
		command.Use, command.Short, command.Example = "diff", "Show how clm up would change objects", "  clm up diff -f releases.yaml"
	}
	command.RunE = func(command *cobra.Command, _ []string) error {
		o.diff.show = o.diff.show || diff
		return o.runUp(command, e, file)
	}
	flags := command.Flags()
	file.addFlags(flags)
	addDiffFlags(flags, &o.diff)
	addDeletionFlags(flags, &o.maxDeletions, &o.approved)
	flags.BoolVar(&o.strict, "strict", false, strictUsage)
	flags.BoolVar(&o.exitCode, "exit-code", false, "exit with code 2 if there are changes")
	if !diff {
		flags.BoolVar(&o.diff.show, "diff", false, "show the changes as a diff")
		o.output = choice{allowed: []string{outputJSON, outputYAML, outputMarkdown}}
		flags.VarP(&o.output, "output", "o", "output format: json or yaml for scripts, markdown for a pull request comment")
	}
	return command
}

func (o planOptions) runUp(command *cobra.Command, e *environment, file fileFlags) error {
	f, err := file.open(command, e, false)
	if err != nil {
		return err
	}
	defer f.close()
	if err := f.plan(command.Context(), o.planFlags, true); err != nil {
		return err
	}
	missing, err := f.missing(command.Context())
	if err != nil {
		return err
	}
	if err := f.print(o); err != nil {
		return err
	}
	f.nameMissing(missing)
	if err := f.refusal(o.planFlags); err != nil {
		return err
	}
	if o.exitCode && len(f.pending()) > 0 {
		return &exitError{code: exitChanges}
	}
	return nil
}

// usualPolicies are the defaults of the flags of clm apply.
var usualPolicies = reconciler.Policies{Adoption: types.AdoptionPolicyIfUnowned, Update: types.UpdatePolicySsaOverride}

// plan makes the plans of all members. It fails if one cannot be made for another reason than a member that must be
// applied first.
func (f *fleet) plan(ctx context.Context, flags planFlags, compare bool) error {
	defer f.announce(comparing)()
	loading := make([]error, len(f.members))
	concurrent.All(f.parallel, f.members, func(m *fleetMember) {
		set, err := sources.Load(ctx, m.Sources, sources.Options{
			ValuesFiles: m.ValuesFiles, Values: m.Values, OptionalValues: m.Inherits, Namespace: m.Namespace, Remote: remote.Options{Version: m.Version},
		})
		if err != nil {
			loading[slices.Index(f.members, m)] = fmt.Errorf("release %s: %w", m, err)
			return
		}
		if !m.Inherits {
			unknown, err := unknownValues(set, flags.strict)
			if err != nil {
				loading[slices.Index(f.members, m)] = fmt.Errorf("release %s: %w", m, err)
				return
			}
			m.noteUnknown(unknown)
		}
		m.request = operation.Request{
			Namespace: m.Namespace, Name: m.Name, Sources: set, KeepHooks: true, Policies: usualPolicies, CreateNamespace: m.CreateNamespace != nil && *m.CreateNamespace,
			DependsOn: append([]string{}, m.Recorded...), Labels: m.Labels, ReplaceLabels: true, Approved: flags.approved, UnlessReady: true,
		}
		m.plan, m.problem = operation.PlanSources(ctx, m.connection, m.request, compare)
	})
	problems := loading
	for _, m := range f.members { // each comes after those that it needs
		for _, i := range m.Needs {
			if needed := f.members[i]; needed.isPending() {
				m.waits = append(m.waits, needed)
			}
		}
		if m.problem != nil && len(m.waits) == 0 {
			problems = append(problems, fmt.Errorf("release %s: %w", m, m.problem))
		}
	}
	return errors.Join(problems...)
}

// refusal returns why the plans may not be carried out. Those that will be made again are judged then.
func (f *fleet) refusal(flags planFlags) error {
	var problems []error
	for _, m := range f.members {
		if m.plan == nil || len(m.waits) > 0 || m.plan.Idle() {
			continue
		}
		if err := errors.Join(flags.limitDeletions(m.plan), flags.refusal(m.plan), refusedByServer(m.plan)); err != nil {
			problems = append(problems, fmt.Errorf("release %s: %w", m, err))
		}
	}
	return errors.Join(problems...)
}

// postponed explains why the member has no final plan; empty if it has.
func (m *fleetMember) postponed() string {
	if len(m.waits) == 0 {
		return ""
	}
	after := display.Enumerate(display.Map(m.waits, func(needed *fleetMember) string { return "release " + needed.String() }), 3)
	if m.plan == nil {
		return fmt.Sprintf("release %s is planned after %s: %v", m, after, m.problem)
	}
	return fmt.Sprintf("release %s is planned again after %s", m, after)
}

// unchanged names the members that are left alone.
func (f *fleet) unchanged() string {
	var names []string
	for _, m := range f.members {
		if !m.isPending() {
			names = append(names, m.String())
		}
	}
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("%s up to date: %s", display.Count(len(names), "release"), strings.Join(names, ", "))
}

// show writes the plans for people.
func (f *fleet) show(out io.Writer, flags diffFlags) error {
	for _, m := range f.pending() {
		if m.Context != "" {
			fmt.Fprintf(out, "in context %s:\n", display.Clean(m.Context))
		}
		if m.plan != nil && m.plan.Exact != nil {
			if err := showPlan(f.environment, out, m.plan, flags); err != nil {
				return err
			}
		}
		if text := m.postponed(); text != "" {
			writeWrapped(out, "", display.Clean(text))
		}
		fmt.Fprintln(out)
	}
	if text := f.unchanged(); text != "" {
		writeWrapped(out, "", display.Clean(text))
	}
	return nil
}

// print writes the plans in the requested format.
func (f *fleet) print(o planOptions) error {
	switch o.output.value {
	case outputJSON, outputYAML:
		items := []any{}
		for _, m := range f.members {
			object := resource("Plan", m.Namespace, m.Name, map[string]any{})
			if m.plan != nil && m.plan.Exact != nil {
				object = o.object(m.plan)
			}
			addKnown(object.Object, map[string]any{"context": m.Context, "postponed": m.postponed()})
			items = append(items, object.Object)
		}
		return printDocuments(f.environment, listOf(items).Object, o.output.value)
	case outputMarkdown:
		var parts []string
		for _, m := range f.pending() {
			if m.Context != "" {
				parts = append(parts, "In context "+cell(m.Context)+":\n")
			}
			if m.plan != nil && m.plan.Exact != nil {
				parts = append(parts, o.markdown(m.plan))
			}
			if text := m.postponed(); text != "" {
				parts = append(parts, cell(text)+"\n")
			}
		}
		if text := f.unchanged(); text != "" {
			parts = append(parts, cell(text)+"\n")
		}
		_, err := io.WriteString(f.out, strings.Join(parts, "\n"))
		return err
	default:
		return f.show(f.out, o.diff)
	}
}

// recordedRelease is a release that exists, in the cluster of a context.
type recordedRelease struct {
	*releases.Release
	destination

	context string // empty for that of the command line
}

// String returns namespace and name, preceded by the context if the file has one.
func (r recordedRelease) String() string {
	return strings.TrimPrefix(r.context+":", ":") + r.Release.String()
}

// needs reports whether a release must not be deleted before this one.
func (r recordedRelease) needs(other recordedRelease) bool {
	current := r.Current()
	return current != nil && r.context == other.context && r.Namespace == other.Namespace && slices.Contains(current.DependsOn, other.Release.Name)
}

// sortForDeletion puts releases before those that they depend on.
func sortForDeletion(list []recordedRelease) {
	for i := range list {
		left := list[i:]
		free := slices.IndexFunc(left, func(each recordedRelease) bool {
			return !slices.ContainsFunc(left, func(other recordedRelease) bool { return other.needs(each) })
		})
		if free > 0 {
			left[0], left[free] = left[free], left[0]
		}
	}
}

// missing returns the releases in the namespaces of the file that were applied from it and are not in it any more. Several
// contexts may be of the same cluster, so no release counts as missing whose name is in the file for any of them.
func (f *fleet) missing(ctx context.Context) ([]recordedRelease, error) {
	var found []recordedRelease
	selector := labels.SelectorFromSet(labels.Set{releasefile.FileLabel: f.name})
	seen := map[[2]string]bool{}
	for _, m := range f.members {
		place := [2]string{m.Context, m.Namespace}
		if seen[place] {
			continue
		}
		seen[place] = true
		listed, err := m.connection.Records().List(ctx, m.Namespace, selector)
		if err != nil {
			return nil, err
		}
		for _, release := range listed {
			isListed := slices.ContainsFunc(f.members, func(m *fleetMember) bool { return m.Namespace == release.Namespace && m.Name == release.Name })
			isFound := slices.ContainsFunc(found, func(other recordedRelease) bool { return other.UID() == release.UID() })
			if !isListed && !isFound {
				found = append(found, recordedRelease{release, f.destinations[m.Context], m.Context})
			}
		}
	}
	return found, nil
}

// stillMissing returns those of the releases that have been missing all the time.
func (f *fleet) stillMissing(ctx context.Context, before []recordedRelease) ([]recordedRelease, error) {
	now, err := f.missing(ctx)
	return slices.DeleteFunc(now, func(release recordedRelease) bool {
		return !slices.ContainsFunc(before, func(other recordedRelease) bool { return other.UID() == release.UID() })
	}), err
}

// nameMissing tells people about releases that are not in the file any more.
func (f *fleet) nameMissing(missing []recordedRelease) {
	for _, release := range missing {
		fmt.Fprintf(f.err, "note: release %s is not in %s any more; --delete-missing deletes it\n", release, f.file)
	}
}

// delete deletes releases one after the other.
func (f *fleet) delete(ctx context.Context, o deleteOptions, list []recordedRelease) error {
	sortForDeletion(list)
	for _, release := range list {
		o.Namespace, o.Name = release.Namespace, release.Release.Name
		s := release.connection.With(release.printer(o.events()))
		if err := release.again(s, attempts, func() error { return o.attempt(ctx, release.environment, s) }); err != nil {
			return err
		}
	}
	return nil
}

func newUpDeleteCommand(e *environment) *cobra.Command {
	o := deleteOptions{}
	var file fileFlags
	command := &cobra.Command{
		Use:     "delete",
		Short:   "Delete the releases that a file lists",
		Long:    "Delete the releases that a file lists, one after the other: those that depend on others first. clm asks about each of them.",
		Example: "  clm up delete -f releases.yaml --environment test",
		RunE: func(command *cobra.Command, _ []string) error {
			if err := o.check(); err != nil {
				return err
			}
			f, err := file.open(command, e, o.events())
			if err != nil {
				return err
			}
			defer f.close()
			present, err := f.present(command.Context())
			if err != nil {
				return err
			}
			return f.delete(command.Context(), o, present)
		},
	}
	flags := command.Flags()
	file.addFlags(flags)
	addOperationFlags(flags, &o.Limits, &o.operationFlags)
	return command
}

// present returns the members that exist, those first that depend on others.
func (f *fleet) present(ctx context.Context) ([]recordedRelease, error) {
	var found []recordedRelease
	for _, m := range slices.Backward(f.members) {
		release, err := m.connection.Records().Get(ctx, m.Namespace, m.Name)
		switch {
		case errors.Is(err, releases.ErrNotFound):
			fmt.Fprintf(f.err, "release %s does not exist\n", m)
		case err != nil:
			return nil, err
		default:
			found = append(found, recordedRelease{release, f.destinations[m.Context], m.Context})
		}
	}
	return found, nil
}

// runConvert prints a helmfile in the form of clm.
func runConvert(e *environment, path string) error {
	file, notes, err := releasefile.Convert(path)
	if err != nil {
		return err
	}
	for _, note := range notes {
		fmt.Fprintln(e.err, "note:", display.Clean(note))
	}
	return printDocuments(e, file, outputYAML)
}

func newUpStatusCommand(e *environment) *cobra.Command {
	o := lsOptions{all: true}
	var file fileFlags
	command := &cobra.Command{
		Use:     "status",
		Short:   "Show the states of the releases that a file lists",
		Long:    "Show the states of the releases that a file lists, as clm status determines them. The exit code is 3 unless all are ready.",
		Example: "  clm up status -f releases.yaml",
		RunE: func(command *cobra.Command, _ []string) error {
			f, err := file.open(command, e, false)
			if err != nil {
				return err
			}
			defer f.close()
			return f.status(command.Context(), o)
		},
	}
	o.output = newOutput(command)
	file.addFlags(command.Flags())
	return command
}

// status lists the members with their states.
func (f *fleet) status(ctx context.Context, o lsOptions) error {
	found := make([]*releases.Release, len(f.members))
	err := concurrent.Each(f.parallel, f.members, func(i int, m *fleetMember) error {
		release, err := m.connection.Records().Get(ctx, m.Namespace, m.Name)
		if errors.Is(err, releases.ErrNotFound) {
			found[i] = &releases.Release{Namespace: m.Namespace, Name: m.Name, Message: "was not applied yet"}
			return nil
		}
		if err != nil {
			return err
		}
		snapshot, err := views.Look(ctx, m.connection, m.Namespace, m.Name, live.NoReasons)
		if err == nil {
			takeState(release, snapshot)
		}
		found[i] = release
		return err
	})
	if err == nil {
		err = o.print(f.environment, found)
	}
	if err == nil && slices.ContainsFunc(found, func(release *releases.Release) bool { return release.State != releases.StateReady }) {
		return &exitError{code: exitNotReady}
	}
	return err
}
