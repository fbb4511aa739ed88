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

// pendingMark exists while an update is not complete: some files are not written, or what is generated from them is
// not.
const pendingMark = ".scaffold/pending"

const pendingText = `An update of this project was interrupted or has failed. "scaffold --update" with the same flags completes it.
`

// IsPending reports whether an update of the project in a folder is not complete.
func IsPending(folder string) bool {
	_, err := os.Lstat(filepath.Join(folder, pendingMark))
	return err == nil
}

// Complete notes that what follows an update is done.
func Complete(folder string) error {
	if err := os.Remove(filepath.Join(folder, pendingMark)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("noting that the update is complete: %w", err)
	}
	return nil
}

// Apply writes the changes, and the record after all of them: whoever interrupts it and starts it again has lost
// nothing. The update is pending until Complete is called.
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

// locate returns where a file of the project is. A symbolic link is followed. The error says so if that leads out of
// the project.
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

// write replaces the content of a file as a whole. An existing file keeps its mode and its line ends.
func (u *Update) write(path string, content []byte) error {
	target, err := u.locate(path)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if content == nil {
		// A link is removed, not what it leads to.
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
