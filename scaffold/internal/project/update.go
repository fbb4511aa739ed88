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

	"github.com/component-operator/runtime/scaffold/internal/threeway"
)

// An Update is what an update of a project does. It has changed nothing yet.
type Update struct {
	folder string
	// Changes are the files that are written or removed, by path; nil means removed.
	Changes map[string]*File
	// Conflicts say for files why they stay as they are, although the templates say something else.
	Conflicts map[string]string
	// record is written last.
	record Tree
	// open are the conflicts that the next update has to find again.
	open map[string]bool
}

// PlanUpdate compares what a project was made from with what it would be made from now, and with what it is. With markers, a file that cannot be merged gets
// conflict markers. Kept is the folder of the chart or kustomization if that is the project's own, with the edits of its author; empty if it is another one.
func PlanUpdate(ctx context.Context, folder string, then, now Tree, markers bool, kept string) (*Update, error) {
	update := &Update{folder: folder, Changes: map[string]*File{}, Conflicts: map[string]string{}, record: Tree{}, open: map[string]bool{}}
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
			// What the project has is not what scaffold wrote: the next update compares with that.
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

func (u *Update) plan(ctx context.Context, path string, then, now Tree, markers bool) error {
	current, err := os.ReadFile(filepath.Join(u.folder, filepath.FromSlash(path)))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	former, latest := contentOf(then, path), contentOf(now, path)
	switch action := threeway.Decide(former, latest, current); action {
	case threeway.Keep:
	case threeway.Take:
		u.Changes[path] = new(now[path])
	case threeway.Remove:
		u.Changes[path] = nil
	case threeway.Leave:
		u.Conflicts[path] = "you have removed it, and it stays removed; scaffold has changed it"
	case threeway.Conflict:
		u.Conflicts[path] = "it stays as it is; scaffold has removed it, but you have changed it"
		if former == nil {
			u.Conflicts[path] = "it stays as it is; scaffold has another file of that name"
		}
	case threeway.Merge:
		return u.merge(ctx, path, [3][]byte{former, latest, current}, markers)
	}
	return nil
}

func (u *Update) merge(ctx context.Context, path string, sides [3][]byte, markers bool) error {
	var merged []byte
	var conflicts int
	var err error
	switch path {
	case "go.mod":
		merged, err = threeway.MergeModule(sides[0], sides[1], sides[2])
	case "tools/go.sum":
		merged = union(sides[2], sides[1])
	default:
		merged, conflicts, err = threeway.MergeFiles(ctx, sides[0], sides[1], sides[2])
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
		u.Changes[path] = &File{Content: merged, Executable: bytes.HasPrefix(merged, []byte("#!"))}
	}
	return nil
}

// union returns the lines of both files, sorted, as the go command has them in go.sum.
func union(a, b []byte) []byte {
	lines := slices.SortedFunc(bytes.Lines(slices.Concat(a, b)), bytes.Compare)
	return bytes.Join(slices.CompactFunc(lines, bytes.Equal), nil)
}

func contentOf(tree Tree, path string) []byte {
	file, exists := tree[path]
	if !exists {
		return nil
	}
	return append([]byte{}, file.Content...)
}

// Apply writes the changes, and the record after all of them: whoever interrupts it and starts it again has lost nothing.
func (u *Update) Apply(ctx context.Context) error {
	for _, path := range slices.Sorted(maps.Keys(u.Changes)) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := u.write(path, u.Changes[path]); err != nil {
			return err
		}
	}
	for _, path := range u.record.Paths() {
		if err := u.write(path, new(u.record[path])); err != nil {
			return err
		}
	}
	return nil
}

// write replaces a file as a whole.
func (u *Update) write(path string, file *File) error {
	target := filepath.Join(u.folder, filepath.FromSlash(path))
	if file == nil {
		if err := os.Remove(target); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("removing %s: %w", path, err)
		}
		return nil
	}
	temporary := target + ".scaffold-new"
	if err := (Tree{filepath.ToSlash(path) + ".scaffold-new": *file}).WriteTo(u.folder); err != nil {
		return err
	}
	if err := os.Rename(temporary, target); err != nil {
		return errors.Join(fmt.Errorf("writing %s: %w", path, err), os.Remove(temporary))
	}
	return nil
}

// Before returns the current content of the files that change.
func (u *Update) Before() (Tree, error) {
	before := Tree{}
	for path := range u.Changes {
		content, err := os.ReadFile(filepath.Join(u.folder, filepath.FromSlash(path)))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("reading %s: %w", path, err)
		}
		if err == nil {
			before[path] = File{Content: content}
		}
	}
	return before, nil
}

// After returns the content that these files get.
func (u *Update) After() Tree {
	after := Tree{}
	for path, file := range u.Changes {
		if file != nil {
			after[path] = *file
		}
	}
	return after
}
