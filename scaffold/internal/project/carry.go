// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package project

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// generatedPrefix begins the names of files that the project generates itself.
const generatedPrefix = "zz_generated."

// apiFolder has a folder for each version of the API.
const apiFolder = "api"

// BeginVersions makes versions of the API that are new begin as the former one is, edits included. Files that the
// author has added to it become files of the new versions, too. A file with edits that cannot be merged begins as the
// templates have it, and is a conflict.
func (u *Update) BeginVersions(ctx context.Context, former string, then, now Tree) error {
	for _, version := range slices.Sorted(maps.Keys(versionsOf(now))) {
		if versionsOf(then)[version] {
			continue
		}
		for _, name := range now.Paths() {
			if path.Dir(name) != path.Join(apiFolder, version) {
				continue
			}
			if err := u.carry(ctx, path.Join(apiFolder, former, path.Base(name)), name, then, now); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
		if err := u.carryAdded(former, version, then); err != nil {
			return err
		}
	}
	return nil
}

// EndVersions removes what was generated for versions of the API that are left out. A version with files of the
// author's own stays as it is, because only the author knows whether they are needed elsewhere.
func (u *Update) EndVersions(then, now Tree) error {
	for _, version := range slices.Sorted(maps.Keys(versionsOf(then))) {
		if versionsOf(now)[version] {
			continue
		}
		entries, err := os.ReadDir(filepath.Join(u.folder, apiFolder, version))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("reading version %s of the API: %w", version, err)
		}
		var generated []string
		kept := ""
		for _, entry := range entries {
			name := path.Join(apiFolder, version, entry.Name())
			change, changed := u.Changes[name]
			switch {
			case changed && change == nil:
			case strings.HasPrefix(entry.Name(), generatedPrefix):
				generated = append(generated, name)
			default:
				kept = name
			}
		}
		if kept != "" {
			u.Conflicts[path.Join(apiFolder, version)] = "the version is left out, but it has files of yours, such as " + path.Base(kept) + "; remove the folder if you do not need them"
			continue
		}
		for _, name := range generated {
			u.Changes[name] = nil
		}
	}
	return nil
}

// versionsOf returns the versions of the API that a project has.
func versionsOf(tree Tree) map[string]bool {
	versions := map[string]bool{}
	for name := range tree {
		if parts := strings.Split(name, "/"); len(parts) == 3 && parts[0] == apiFolder {
			versions[parts[1]] = true
		}
	}
	return versions
}

// carry merges the edits of a file into another one, unless that already exists.
func (u *Update) carry(ctx context.Context, from, to string, then, now Tree) error {
	edited, err := os.ReadFile(filepath.Join(u.folder, filepath.FromSlash(from)))
	template := contentOf(then, from)
	if errors.Is(err, fs.ErrNotExist) || u.Changes[to] == nil || template == nil {
		return nil
	}
	if err != nil {
		return err
	}
	merged, conflicts, err := mergeFiles(ctx, template, now[to].Content, edited)
	if err != nil {
		return err
	}
	if conflicts > 0 {
		u.Conflicts[to] = "it is new, and your edits of " + from + " could not be merged into it"
		return nil
	}
	u.Changes[to] = &File{Content: merged}
	return nil
}

// carryAdded copies what the author has added to a version.
func (u *Update) carryAdded(former, version string, then Tree) error {
	entries, err := os.ReadDir(filepath.Join(u.folder, apiFolder, former))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading version %s of the API: %w", former, err)
	}
	clause := regexp.MustCompile(`(?m)^package ` + former + `(_test)?$`)
	for _, entry := range entries {
		from, to := path.Join(apiFolder, former, entry.Name()), path.Join(apiFolder, version, entry.Name())
		_, scaffolded := then[from]
		if scaffolded || !entry.Type().IsRegular() || path.Ext(from) != ".go" || strings.HasPrefix(entry.Name(), generatedPrefix) || u.exists(to) {
			continue
		}
		content, err := os.ReadFile(filepath.Join(u.folder, filepath.FromSlash(from)))
		if err != nil {
			return fmt.Errorf("reading %s: %w", from, err)
		}
		u.Changes[to] = &File{Content: clause.ReplaceAll(content, []byte("package "+version+"${1}"))}
	}
	return nil
}

// exists reports whether the project has, or gets, a file.
func (u *Update) exists(name string) bool {
	_, err := os.Lstat(filepath.Join(u.folder, filepath.FromSlash(name)))
	return err == nil || u.Changes[name] != nil
}
