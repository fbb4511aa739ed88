// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/spf13/pflag"

	"github.com/component-operator/runtime/scaffold/internal/project"
)

// update updates a project to the current templates and to the given flags.
func (s *settings) update(ctx context.Context, given *pflag.FlagSet, out, progress io.Writer, folder string) error {
	absolute, err := filepath.Abs(folder)
	if err != nil {
		return fmt.Errorf("finding %s: %w", folder, err)
	}
	recorded, then, err := project.ReadRecord(absolute)
	if err != nil {
		return err
	}
	if err := s.override(recorded, given, absolute); err != nil {
		return err
	}
	// The project keeps its chart or kustomization, unless another one is given.
	source, kept := absolute, project.ContentsFolder(recorded)
	if given.Changed("chart") || given.Changed("kustomization") {
		source, kept = "", ""
	}
	contents, err := loadContents(ctx, recorded, source, absolute)
	if err != nil {
		return err
	}
	now, err := project.Render(recorded, contents)
	if err != nil {
		return err
	}
	update, err := project.PlanUpdate(ctx, absolute, then, now, s.conflictMarkers, kept)
	if err != nil {
		return err
	}
	if err := update.EndVersions(then, now); err != nil {
		return err
	}
	if err := showDiff(ctx, out, update); err != nil {
		return err
	}
	for _, path := range slices.Sorted(maps.Keys(update.Conflicts)) {
		fmt.Fprintf(out, "%s: %s\n", path, update.Conflicts[path])
	}
	if s.dryRun {
		return nil
	}
	if err := s.complete(ctx, progress, folder, absolute, recorded, update); err != nil {
		return err
	}
	if count := len(update.Conflicts); count > 0 {
		return fmt.Errorf("%d files need your decision; everything else is up to date", count)
	}
	fmt.Fprintf(out, "%s is up to date.\n", folder)
	return nil
}

// complete applies an update and the steps after it. If an earlier update is incomplete, it completes that one, too.
func (s *settings) complete(ctx context.Context, progress io.Writer, folder, absolute string, options *project.Options, update *project.Update) error {
	pending := project.IsPending(absolute)
	if err := update.Apply(ctx); err != nil {
		return &unfinishedError{folder: folder, err: err}
	}
	if (len(update.Changes) > 0 || pending) && !s.skipPostProcessing {
		fmt.Fprintf(progress, "Updating %s\n", folder)
		if err := project.Process(ctx, options, absolute, false, progress); err != nil {
			return &unfinishedError{folder: folder, err: err}
		}
	}
	return project.Complete(absolute)
}

// unfinishedError means that files were written, but the rest of an update is missing.
type unfinishedError struct {
	folder string
	err    error
}

// Error also describes how to continue.
func (e *unfinishedError) Error() string {
	return fmt.Sprintf("%s\nSome files of %s are updated already; run the same command again to complete the update", e.err, e.folder)
}

// Unwrap returns the error of the update.
func (e *unfinishedError) Unwrap() error { return e.err }

// refuseIdentities returns an error if options change that identify a project in clusters: existing components, and the
// finalizers and labels of their dependents, would have no operator.
func refuseIdentities(recorded, chosen *project.Options) error {
	var problems []error
	for _, row := range []struct{ flag, was, is string }{
		{"group-name", recorded.GroupName, chosen.GroupName},
		{"kind", recorded.Kind, chosen.Kind},
		{"resource", recorded.Resource, chosen.Resource},
		{"operator-name", recorded.OperatorName, chosen.OperatorName},
	} {
		if row.is != row.was {
			problems = append(problems, fmt.Errorf("--%s: invalid value %q: an update cannot change it, because existing components depend on it; must be %s",
				row.flag, row.is, row.was))
		}
	}
	return errors.Join(problems...)
}

// override sets the given options, and completes all of them.
func (s *settings) override(recorded *project.Options, given *pflag.FlagSet, folder string) error {
	chosen := *recorded
	flags := pflag.NewFlagSet("recorded", pflag.ContinueOnError)
	declareOptions(flags, &chosen)
	chosen = *recorded // declaring flags has set their defaults
	var failures []error
	given.Visit(func(flag *pflag.Flag) {
		if target := flags.Lookup(flag.Name); target != nil {
			failures = append(failures, assign(target.Value, flag.Value))
		}
	})
	if err := errors.Join(failures...); err != nil {
		return err
	}
	if err := refuseIdentities(recorded, &chosen); err != nil {
		return err
	}
	switch {
	case s.runtimePath != "":
		relative, err := relativeRuntime(folder, s.runtimePath)
		if err != nil {
			return err
		}
		chosen.RuntimePath, chosen.RuntimeVersion = relative, ""
	case given.Changed("runtime-version"):
		chosen.RuntimePath = ""
	case chosen.RuntimePath == "" && ownVersion() != "":
		chosen.RuntimeVersion = ownVersion()
	}
	chosen.RaiseVersions()
	*recorded = chosen
	return recorded.Complete()
}

// assign sets a flag to the value of another one. Lists are replaced.
func assign(target, value pflag.Value) error {
	list, isList := value.(pflag.SliceValue)
	if replaceable, ok := target.(pflag.SliceValue); ok && isList {
		return replaceable.Replace(list.GetSlice())
	}
	return target.Set(value.String())
}

// showDiff prints the changes like git does.
func showDiff(ctx context.Context, out io.Writer, update *project.Update) (err error) {
	if len(update.Changes) == 0 {
		return nil
	}
	before, after := update.Sides()
	folder, err := os.MkdirTemp("", "scaffold-diff-")
	if err != nil {
		return fmt.Errorf("showing the changes: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	for name, tree := range map[string]project.Tree{"a": before, "b": after} {
		if err := errors.Join(os.Mkdir(filepath.Join(folder, name), 0o755), tree.WriteTo(filepath.Join(folder, name))); err != nil {
			return err
		}
	}
	command := exec.CommandContext(ctx, "git", "diff", "--no-index", "--no-ext-diff", "--no-prefix", "a", "b")
	command.Dir, command.Stdout, command.Stderr = folder, out, out
	// The exit code 1 means that there are differences.
	if err := command.Run(); err != nil {
		if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) || exit.ExitCode() != 1 {
			return fmt.Errorf("showing the changes with git: %w", err)
		}
	}
	return nil
}
