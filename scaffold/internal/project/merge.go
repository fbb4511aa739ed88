// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package project

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/semver"
)

// mergeFiles merges the changes of both sides with "git merge-file". Lines that both sides changed are between conflict
// markers, and are counted.
func mergeFiles(ctx context.Context, then, now, current []byte) (merged []byte, conflicts int, err error) {
	folder, err := os.MkdirTemp("", "scaffold-merge-")
	if err != nil {
		return nil, 0, fmt.Errorf("merging: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	for name, content := range map[string][]byte{"then": then, "now": now, "current": current} {
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o600); err != nil {
			return nil, 0, fmt.Errorf("merging: %w", err)
		}
	}
	command := exec.CommandContext(ctx, "git", "merge-file", "-p", "-L", "yours", "-L", "scaffolded then", "-L", "scaffolded now", "current", "then", "now")
	command.Dir = folder
	merged, err = command.Output()
	// Its exit code is the number of conflicts, at most 127; errors are negative numbers.
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		if conflicts = exit.ExitCode(); conflicts <= 0 || conflicts > 127 {
			return nil, 0, fmt.Errorf("merging with git: %w %s", err, bytes.TrimSpace(exit.Stderr))
		}
		return merged, conflicts, nil
	}
	return merged, 0, err
}

// mergeModule brings the requirements of a go.mod file into another one: versions that are missing or older, the
// version of Go, and what the template changed in replacements, or has added to the folders that the go command
// ignores. Lines do not matter, because the go command rearranges the file.
func mergeModule(then, now, current []byte) ([]byte, error) {
	former, err := modfile.Parse("go.mod", then, nil)
	latest, latestErr := modfile.Parse("go.mod", now, nil)
	merged, mergedErr := modfile.Parse("go.mod", current, nil)
	if err := errors.Join(err, latestErr, mergedErr); err != nil {
		return nil, fmt.Errorf("reading go.mod: %w", err)
	}
	var failures []error
	merged.SetRequireSeparateIndirect(mergeRequirements(latest.Require, merged.Require))
	if latest.Go != nil && (merged.Go == nil || semver.Compare("v"+merged.Go.Version, "v"+latest.Go.Version) < 0) {
		failures = append(failures, merged.AddGoStmt(latest.Go.Version))
	}
	for _, folder := range latest.Ignore {
		if !ignores(former, folder) && !ignores(merged, folder) {
			failures = append(failures, merged.AddIgnore(folder.Path))
		}
	}
	for _, replacement := range former.Replace {
		if !replaces(latest, replacement) && replaces(merged, replacement) {
			failures = append(failures, merged.DropReplace(replacement.Old.Path, replacement.Old.Version))
		}
	}
	for _, replacement := range latest.Replace {
		if !replaces(former, replacement) {
			failures = append(failures, merged.AddReplace(replacement.Old.Path, replacement.Old.Version, replacement.New.Path, replacement.New.Version))
		}
	}
	if err := errors.Join(failures...); err != nil {
		return nil, fmt.Errorf("changing go.mod: %w", err)
	}
	merged.Cleanup()
	return modfile.Format(merged.Syntax), nil
}

// mergeRequirements returns the requirements with those that are missing or newer in the latest ones.
func mergeRequirements(latest, requirements []*modfile.Require) []*modfile.Require {
	for _, wanted := range latest {
		i := slices.IndexFunc(requirements, func(have *modfile.Require) bool { return have.Mod.Path == wanted.Mod.Path })
		switch {
		case i < 0:
			requirements = append(requirements, &modfile.Require{Mod: wanted.Mod, Indirect: wanted.Indirect})
		case semver.Compare(requirements[i].Mod.Version, wanted.Mod.Version) < 0:
			requirements[i].Mod.Version = wanted.Mod.Version
		}
	}
	return requirements
}

func ignores(file *modfile.File, wanted *modfile.Ignore) bool {
	return slices.ContainsFunc(file.Ignore, func(have *modfile.Ignore) bool { return have.Path == wanted.Path })
}

func replaces(file *modfile.File, wanted *modfile.Replace) bool {
	return slices.ContainsFunc(file.Replace, func(have *modfile.Replace) bool { return have.Old == wanted.Old && have.New == wanted.New })
}
