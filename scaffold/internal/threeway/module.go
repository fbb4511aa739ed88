// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package threeway

import (
	"fmt"
	"slices"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/semver"
)

// MergeModule brings the requirements of a go.mod file into another one: versions that are missing or older, the
// version of Go, and what the template changed in replacements, or has added to the folders that the go command
// ignores. Lines do not matter, because the go command rearranges the file.
func MergeModule(then, now, current []byte) ([]byte, error) {
	parsed := make([]*modfile.File, 3)
	for i, content := range [][]byte{then, now, current} {
		var err error
		if parsed[i], err = modfile.Parse("go.mod", content, nil); err != nil {
			return nil, fmt.Errorf("reading go.mod: %w", err)
		}
	}
	former, latest, merged := parsed[0], parsed[1], parsed[2]
	mergeRequirements(latest, merged)
	if latest.Go != nil && (merged.Go == nil || semver.Compare("v"+merged.Go.Version, "v"+latest.Go.Version) < 0) {
		if err := merged.AddGoStmt(latest.Go.Version); err != nil {
			return nil, fmt.Errorf("setting the version of Go: %w", err)
		}
	}
	for _, folder := range latest.Ignore {
		if !ignores(former, folder.Path) && !ignores(merged, folder.Path) {
			if err := merged.AddIgnore(folder.Path); err != nil {
				return nil, fmt.Errorf("ignoring %s: %w", folder.Path, err)
			}
		}
	}
	if err := mergeReplacements(former, latest, merged); err != nil {
		return nil, err
	}
	merged.Cleanup()
	return modfile.Format(merged.Syntax), nil
}

func mergeRequirements(latest, merged *modfile.File) {
	requirements := merged.Require
	have := map[string]*modfile.Require{}
	for _, requirement := range requirements {
		have[requirement.Mod.Path] = requirement
	}
	for _, requirement := range latest.Require {
		switch found := have[requirement.Mod.Path]; {
		case found == nil:
			requirements = append(requirements, &modfile.Require{Mod: requirement.Mod, Indirect: requirement.Indirect})
		case semver.Compare(found.Mod.Version, requirement.Mod.Version) < 0:
			found.Mod.Version = requirement.Mod.Version
		}
	}
	merged.SetRequireSeparateIndirect(requirements)
}

func mergeReplacements(former, latest, merged *modfile.File) error {
	for _, replacement := range former.Replace {
		if !hasReplacement(latest, replacement) && hasReplacement(merged, replacement) {
			if err := merged.DropReplace(replacement.Old.Path, replacement.Old.Version); err != nil {
				return fmt.Errorf("dropping the replacement of %s: %w", replacement.Old, err)
			}
		}
	}
	for _, replacement := range latest.Replace {
		if !hasReplacement(former, replacement) {
			if err := merged.AddReplace(replacement.Old.Path, replacement.Old.Version, replacement.New.Path, replacement.New.Version); err != nil {
				return fmt.Errorf("replacing %s: %w", replacement.Old, err)
			}
		}
	}
	return nil
}

func ignores(file *modfile.File, folder string) bool {
	return slices.ContainsFunc(file.Ignore, func(ignored *modfile.Ignore) bool { return ignored.Path == folder })
}

func hasReplacement(file *modfile.File, wanted *modfile.Replace) bool {
	for _, replacement := range file.Replace {
		if replacement.Old == wanted.Old && replacement.New == wanted.New {
			return true
		}
	}
	return false
}
