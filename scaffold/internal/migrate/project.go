// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// project is a folder and a copy of it.
type project struct {
	dir, copy string
}

// copyProject copies everything except what git stores, beside the project, so that relative paths in go.mod lead to the same folders.
func copyProject(dir string) (project, error) {
	temporary, err := os.MkdirTemp(filepath.Dir(dir), "."+filepath.Base(dir)+".migrate-")
	if err != nil {
		return project{}, fmt.Errorf("creating a folder for a copy: %w", err)
	}
	p := project{dir: dir, copy: temporary}
	err = walk(dir, func(path string, entry fs.DirEntry) error {
		target := filepath.Join(p.copy, path)
		if entry.IsDir() {
			return os.MkdirAll(target, 0o755)
		}
		return copyFile(filepath.Join(dir, path), target)
	})
	if err != nil {
		return project{}, errors.Join(fmt.Errorf("copying the project: %w", err), os.RemoveAll(temporary))
	}
	return p, nil
}

// walk visits folders, files and symbolic links of a project by their relative paths, in lexical order.
func walk(dir string, visit func(path string, entry fs.DirEntry) error) error {
	return filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.Name() == ".git" {
			if entry.IsDir() {
				return filepath.SkipDir
			}
			return nil
		}
		relative, err := filepath.Rel(dir, path)
		if err != nil || relative == "." {
			return err
		}
		if kind := entry.Type(); kind != 0 && kind != fs.ModeSymlink && kind != fs.ModeDir {
			return nil
		}
		return visit(relative, entry)
	})
}

// copyFile copies a file with its permissions, or a symbolic link.
func copyFile(source, target string) error {
	info, err := os.Lstat(source)
	if err != nil {
		return err
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		link, err := os.Readlink(source)
		if err != nil {
			return err
		}
		return os.Symlink(link, target)
	}
	content, err := os.ReadFile(source)
	if err != nil {
		return err
	}
	if err := os.WriteFile(target, content, info.Mode().Perm()); err != nil {
		return err
	}
	return os.Chmod(target, info.Mode().Perm())
}

// compare returns the files that the copy has with other content, and those that it lacks. Symbolic links do not change.
func (p project) compare() (changed, removed []string, err error) {
	seen := map[string]bool{}
	err = walk(p.copy, func(path string, entry fs.DirEntry) error {
		seen[path] = true
		if !entry.Type().IsRegular() {
			return nil
		}
		after, err := os.ReadFile(filepath.Join(p.copy, path))
		if err != nil {
			return err
		}
		before, err := os.ReadFile(filepath.Join(p.dir, path))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err != nil || !bytes.Equal(before, after) {
			changed = append(changed, path)
		}
		return nil
	})
	if err != nil {
		return nil, nil, fmt.Errorf("comparing the copy with the project: %w", err)
	}
	err = walk(p.dir, func(path string, entry fs.DirEntry) error {
		if !seen[path] && entry.Type().IsRegular() {
			removed = append(removed, path)
		}
		return nil
	})
	if err != nil {
		return nil, nil, fmt.Errorf("comparing the project with its copy: %w", err)
	}
	return changed, removed, nil
}

// ignored returns those of the files that git ignores, such as tools that were built to generate code; none without git.
func (p project) ignored(ctx context.Context, files []string) map[string]bool {
	command := exec.CommandContext(ctx, "git", "check-ignore", "-z", "--stdin")
	command.Dir = p.dir
	command.Stdin = strings.NewReader(strings.Join(files, "\x00"))
	// It fails if none is ignored.
	output, _ := command.Output()
	found := map[string]bool{}
	for file := range strings.SplitSeq(string(output), "\x00") {
		found[file] = true
	}
	return found
}

// putBack exchanges files of the project for those of the copy, and undoes that if it fails. Only renaming is left to do, so that it takes no time in which
// somebody would interrupt it.
func (p project) putBack(changed, removed []string) (err error) {
	aside := filepath.Join(p.copy, ".git", "before")
	var undo []func() error
	defer func() {
		if err == nil {
			return
		}
		for _, step := range slices.Backward(undo) {
			err = errors.Join(err, step())
		}
	}()
	rename := func(from, to string) error {
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return fmt.Errorf("creating the folder of %s: %w", to, err)
		}
		if err := os.Rename(from, to); err != nil {
			return fmt.Errorf("exchanging files: %w", err)
		}
		undo = append(undo, func() error { return os.Rename(to, from) })
		return nil
	}
	for _, path := range slices.Concat(changed, removed) {
		if !exists(filepath.Join(p.dir, path)) {
			continue
		}
		if err := rename(filepath.Join(p.dir, path), filepath.Join(aside, path)); err != nil {
			return err
		}
	}
	for _, path := range changed {
		if err := rename(filepath.Join(p.copy, path), filepath.Join(p.dir, path)); err != nil {
			return err
		}
	}
	return nil
}
