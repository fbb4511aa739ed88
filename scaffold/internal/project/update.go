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
	"path/filepath"
	"slices"
	"strings"
)

// An Update is what an update of a project does. It has changed nothing yet.
type Update struct {
	folder string
	// Changes are the files that are written or removed, by path; nil means removed.
	Changes map[string][]byte
	// Conflicts say for files why they stay as they are, although the templates say something else.
	Conflicts map[string]string
	// record is written last.
	record Tree
	// windows are the files whose lines end with CR LF, unlike what scaffold wrote. They keep that.
	windows map[string]bool
	// open are the conflicts that the next update has to find again.
	open map[string]bool
}

// PlanUpdate compares what a project was made from with what it would be made from now, and with what it is. With
// markers, a file that cannot be merged gets conflict markers. Kept is the folder of the chart or kustomization if that
// is the project's own, with the edits of its author; empty if it is another one.
func PlanUpdate(ctx context.Context, folder string, then, now Tree, markers bool, kept string) (*Update, error) {
	update := &Update{folder: folder, Changes: map[string][]byte{}, Conflicts: map[string]string{}, record: Tree{}, open: map[string]bool{}, windows: map[string]bool{}}
	paths := map[string]bool{}
	for _, tree := range []Tree{then, now} {
		for path := range tree {
			paths[path] = true
		}
	}
	delete(paths, optionsRecord)
	delete(paths, filesRecord)
	base := maps.Clone(now)
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		if err := update.plan(ctx, path, then, now, markers); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if isKept := kept != "" && strings.HasPrefix(path, kept+"/"); isKept || update.open[path] {
			// The files of the project differ from those that scaffold wrote: the next update compares with the latter.
			delete(base, path)
			if file, exists := then[path]; exists {
				base[path] = file
			}
		}
	}
	delete(base, optionsRecord)
	delete(base, filesRecord)
	update.record = Tree{optionsRecord: now[optionsRecord], filesRecord: recordOf(base)}
	return update, nil
}

// plan decides about a file: as the template had it then, as the template has it now, and as it is. Nothing that people
// have written is lost.
func (u *Update) plan(ctx context.Context, path string, then, now Tree, markers bool) error {
	if _, err := u.locate(path); err != nil {
		return err
	}
	current, err := os.ReadFile(filepath.Join(u.folder, filepath.FromSlash(path)))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	former, latest := contentOf(then, path), contentOf(now, path)
	if u.windows[path] = usesWindowsLines(current) && !usesWindowsLines(former); u.windows[path] {
		current = bytes.ReplaceAll(current, []byte("\r\n"), []byte("\n"))
	}
	same := func(a, b []byte) bool { return (a == nil) == (b == nil) && bytes.Equal(a, b) }
	switch {
	case same(former, latest), same(latest, current):
		// There is nothing to bring in.
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

// union returns the lines of both files, sorted, as the go command has them in go.sum.
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

// Sides returns the files that change: as they are, and as they will be.
func (u *Update) Sides() (before, after Tree, err error) {
	before, after = Tree{}, Tree{}
	for path, content := range u.Changes {
		if content != nil {
			after[path] = content
		}
		current, err := os.ReadFile(filepath.Join(u.folder, filepath.FromSlash(path)))
		switch {
		case err == nil:
			before[path] = current
		case !errors.Is(err, fs.ErrNotExist):
			return nil, nil, fmt.Errorf("reading %s: %w", path, err)
		}
	}
	return before, after, nil
}

// EndVersions names the folders of versions of the API that are left out and that still have files: those that the author
// has added, and those that the project generates itself.
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
