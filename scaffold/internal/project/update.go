// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package project

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/semver"
)

// An Update contains the changes of an update that has not been applied yet.
type Update struct {
	folder string
	// Changes are the files to be written or removed, by path; nil means removed.
	Changes map[string][]byte
	// Conflicts contains, by path, why a file stays the same although its template has changed.
	Conflicts map[string]string
	// before are the existing files.
	before Tree
	// record is written last.
	record Tree
	// windows are the files whose lines end with CR LF, unlike those that scaffold wrote. They keep these line ends.
	windows map[string]bool
	// open are the conflicts that the next update must find again.
	open map[string]bool
}

// PlanUpdate compares the original files of a project (then) and the files that scaffold renders now with the current
// ones. If markers is true, files that cannot be merged get conflict markers. Kept is the folder of the project's own
// chart or kustomization, with the author's edits; empty if another one is used.
func PlanUpdate(ctx context.Context, folder string, then, now Tree, markers bool, kept string) (*Update, error) {
	update := &Update{folder: folder, Changes: map[string][]byte{}, Conflicts: map[string]string{}, before: Tree{}, open: map[string]bool{}, windows: map[string]bool{}}
	all, base := maps.Clone(then), maps.Clone(now)
	maps.Copy(all, now)
	for _, tree := range []Tree{all, base} {
		delete(tree, optionsRecord)
		delete(tree, filesRecord)
	}
	for _, path := range all.Paths() {
		if err := update.plan(ctx, path, then, now, markers); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if isKept := kept != "" && strings.HasPrefix(path, kept+"/"); isKept || update.open[path] {
			// These files differ from those of scaffold; the next update compares them with the original ones.
			delete(base, path)
			if file, exists := then[path]; exists {
				base[path] = file
			}
		}
	}
	update.record = Tree{optionsRecord: now[optionsRecord], filesRecord: recordOf(base)}
	return update, nil
}

// plan decides about one file, from its original, newly rendered and current content. It loses no edits of people.
func (u *Update) plan(ctx context.Context, path string, then, now Tree, markers bool) error {
	current, err := u.read(path)
	if err != nil {
		return err
	}
	former, latest := contentOf(then, path), contentOf(now, path)
	if u.windows[path] = usesWindowsLines(current) && !usesWindowsLines(former); u.windows[path] {
		current = bytes.ReplaceAll(current, []byte("\r\n"), []byte("\n"))
	}
	same := func(a, b []byte) bool { return (a == nil) == (b == nil) && bytes.Equal(a, b) }
	switch {
	case same(former, latest), same(latest, current):
		// There is nothing to merge.
	case same(former, current) && latest == nil:
		u.Changes[path] = nil
	case same(former, current):
		u.Changes[path] = latest
	case current == nil:
		u.Conflicts[path] = "you have removed it, and it stays removed; scaffold has changed it"
	case former == nil:
		u.Conflicts[path] = "it stays as it is; scaffold has another file of that name"
	case latest == nil:
		u.Conflicts[path] = "it stays as it is; scaffold has removed it, but you have changed it"
	default:
		return u.merge(ctx, path, [3][]byte{former, latest, current}, markers)
	}
	return nil
}

// read returns and records the content of a file; nil if it does not exist.
func (u *Update) read(path string) ([]byte, error) {
	if _, err := u.locate(path); err != nil {
		return nil, err
	}
	content, err := os.ReadFile(filepath.Join(u.folder, filepath.FromSlash(path)))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	default:
		u.before[path] = content
		return content, nil
	}
}

func (u *Update) merge(ctx context.Context, path string, sides [3][]byte, markers bool) error {
	var merged []byte
	var conflicts int
	var err error
	if slices.ContainsFunc(sides[:], func(content []byte) bool { return bytes.IndexByte(content, 0) >= 0 }) {
		u.open[path] = true
		u.Conflicts[path] = "it stays as it is; you and scaffold have changed it, and its parts cannot be merged"
		return nil
	}
	switch path {
	case "go.mod":
		merged, err = mergeModule(sides[0], sides[1], sides[2])
	case "tools/go.sum":
		merged = union(sides[2], sides[1])
	default:
		merged, conflicts, err = mergeFiles(ctx, sides[0], sides[1], sides[2])
	}
	if err != nil {
		return err
	}
	if conflicts > 0 && !markers {
		u.open[path] = true
		u.Conflicts[path] = fmt.Sprintf("it stays as it is; you and scaffold have changed the same lines in %d places (--conflict-markers shows them in the file)", conflicts)
		return nil
	}
	if conflicts > 0 {
		u.Conflicts[path] = fmt.Sprintf("it has conflict markers in %d places", conflicts)
	}
	if !bytes.Equal(merged, sides[2]) {
		u.Changes[path] = append([]byte{}, merged...) // nil would remove the file
	}
	return nil
}

// union returns the lines of both files, sorted as the go command does in go.sum.
func union(a, b []byte) []byte {
	lines := slices.SortedFunc(bytes.Lines(slices.Concat(a, b)), bytes.Compare)
	return bytes.Join(slices.CompactFunc(lines, bytes.Equal), nil)
}

func contentOf(tree Tree, path string) []byte {
	content, exists := tree[path]
	if !exists {
		return nil
	}
	return append([]byte{}, content...)
}

// Sides returns the files that change, before and after the update.
func (u *Update) Sides() (before, after Tree) {
	before, after = Tree{}, Tree{}
	for path, content := range u.Changes {
		if content != nil {
			after[path] = content
		}
		if current, exists := u.before[path]; exists {
			before[path] = current
		}
	}
	return before, after
}

// EndVersions reports a conflict for each removed version of the API whose folder still has files: files that the
// author has added, or that the project generates.
func (u *Update) EndVersions(then, now Tree) error {
	for _, version := range slices.Sorted(maps.Keys(versionsOf(then))) {
		if versionsOf(now)[version] {
			continue
		}
		entries, err := os.ReadDir(filepath.Join(u.folder, filepath.FromSlash(version)))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("reading %s: %w", version, err)
		}
		for _, entry := range entries {
			if change, changed := u.Changes[version+"/"+entry.Name()]; !changed || change != nil {
				u.Conflicts[version] = "the version is left out, but its folder has other files, such as " + entry.Name() + "; remove the folder if you do not need them"
				break
			}
		}
	}
	return nil
}

// versionsOf returns the folders of the versions of the API that a project has.
func versionsOf(tree Tree) map[string]bool {
	versions := map[string]bool{}
	for name := range tree {
		if strings.HasPrefix(name, "api/") && strings.Count(name, "/") == 2 {
			versions[name[:strings.LastIndex(name, "/")]] = true
		}
	}
	return versions
}

// pendingMark exists while an update is incomplete: some files were not written, or generated files are missing.
const pendingMark = ".scaffold/pending"

const pendingText = `An update of this project was interrupted or has failed. "scaffold --update" with the same flags completes it.
`

// IsPending reports whether an update of the project in a folder is not complete.
func IsPending(folder string) bool {
	_, err := os.Lstat(filepath.Join(folder, pendingMark))
	return err == nil
}

// Complete records that an update, including the steps after it, is complete.
func Complete(folder string) error {
	if err := os.Remove(filepath.Join(folder, pendingMark)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("noting that the update is complete: %w", err)
	}
	return nil
}

// Apply writes the changes and then the record, so it may be interrupted and started again without loss. The update is
// pending until Complete is called.
func (u *Update) Apply(ctx context.Context) error {
	if len(u.Changes) > 0 {
		if err := u.write(pendingMark, []byte(pendingText)); err != nil {
			return err
		}
	}
	for _, path := range slices.Sorted(maps.Keys(u.Changes)) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := u.write(path, u.Changes[path]); err != nil {
			return err
		}
	}
	for _, path := range u.record.Paths() {
		if err := u.write(path, u.record[path]); err != nil {
			return err
		}
	}
	return nil
}

// locate returns the real path of a file of the project. It follows a symbolic link, and returns an error if that leads
// out of the project.
func (u *Update) locate(path string) (string, error) {
	target := filepath.Join(u.folder, filepath.FromSlash(path))
	found, err := filepath.EvalSymlinks(target)
	if errors.Is(err, fs.ErrNotExist) {
		info, err := os.Lstat(target)
		if err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return "", errors.New("is a symbolic link to nothing; remove it, and run the update again")
		}
		return target, nil
	}
	if err != nil {
		return "", err
	}
	root, err := filepath.EvalSymlinks(u.folder)
	if err != nil {
		return "", err
	}
	if relative, err := filepath.Rel(root, found); err != nil || relative == ".." || strings.HasPrefix(relative, ".."+string(filepath.Separator)) {
		return "", fmt.Errorf("is behind a symbolic link to %s, outside of the project, which scaffold does not change; replace the link by the file", found)
	}
	return found, nil
}

// write replaces the whole content of a file. An existing file keeps its mode and its line ends.
func (u *Update) write(path string, content []byte) error {
	target, err := u.locate(path)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if content == nil {
		// This removes a link, not its target.
		if err := os.Remove(filepath.Join(u.folder, filepath.FromSlash(path))); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("removing %s: %w", path, err)
		}
		return nil
	}
	if u.windows[path] {
		content = bytes.ReplaceAll(content, []byte("\n"), []byte("\r\n"))
	}
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	temporary := target + ".scaffold-new"
	err = os.WriteFile(temporary, content, modeOf(content))
	if info, statErr := os.Stat(target); err == nil && statErr == nil {
		err = os.Chmod(temporary, info.Mode().Perm())
	}
	if err == nil {
		err = os.Rename(temporary, target)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("writing %s: %w", path, err), os.RemoveAll(temporary))
	}
	return nil
}

// usesWindowsLines reports whether all lines end with CR LF.
func usesWindowsLines(content []byte) bool {
	count := bytes.Count(content, []byte("\n"))
	return count > 0 && bytes.Count(content, []byte("\r\n")) == count
}

// mergeFiles merges the changes of both sides with "git merge-file". It puts conflict markers around lines that both
// sides changed, and returns their number.
func mergeFiles(ctx context.Context, then, now, current []byte) (merged []byte, conflicts int, err error) {
	folder, err := os.MkdirTemp("", "scaffold-merge-")
	if err != nil {
		return nil, 0, fmt.Errorf("merging: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	if err := (Tree{"then": then, "now": now, "current": current}).WriteTo(folder); err != nil {
		return nil, 0, fmt.Errorf("merging: %w", err)
	}
	command := exec.CommandContext(ctx, "git", "merge-file", "-p", "-L", "yours", "-L", "scaffolded then", "-L", "scaffolded now", "current", "then", "now")
	command.Dir = folder
	merged, err = command.Output()
	// The exit code is the number of conflicts, at most 127; errors are negative numbers.
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		if conflicts = exit.ExitCode(); conflicts <= 0 || conflicts > 127 {
			return nil, 0, fmt.Errorf("merging with git: %w %s", err, bytes.TrimSpace(exit.Stderr))
		}
		return merged, conflicts, nil
	}
	return merged, 0, err
}

// mergeModule merges changes of the template into a go.mod file: missing or newer requirements, the version of Go, and
// the template's changes of replacements and ignored folders. It does not compare lines, because the go command
// rearranges the file.
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
		if !slices.ContainsFunc(former.Ignore, func(had *modfile.Ignore) bool { return had.Path == folder.Path }) {
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

// mergeRequirements returns the requirements with missing and newer ones from latest.
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

func replaces(file *modfile.File, wanted *modfile.Replace) bool {
	return slices.ContainsFunc(file.Replace, func(have *modfile.Replace) bool { return have.Old == wanted.Old && have.New == wanted.New })
}
