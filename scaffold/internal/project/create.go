// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package project

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Destination is the folder of a new project. It must be empty or not exist.
type Destination struct {
	path string
}

// NewDestination returns the destination with that path. It changes nothing; an existing folder that is not empty, or
// no folder, is refused.
func NewDestination(path string) (Destination, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return Destination{}, fmt.Errorf("finding %s: %w", path, err)
	}
	entries, err := os.ReadDir(absolute)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return Destination{}, fmt.Errorf("%s: must be a folder that is empty or does not exist: %w", path, err)
	case len(entries) > 0:
		return Destination{}, fmt.Errorf("%s: must be empty, but has %s; use --update for a project that was scaffolded before", path, entries[0].Name())
	}
	return Destination{path: absolute}, nil
}

// Path is the absolute path.
func (d Destination) Path() string {
	return d.path
}

// Fill writes the files into a temporary folder beside the destination, has them processed there, and then puts them
// into place.
func (d Destination) Fill(ctx context.Context, tree Tree, process func(ctx context.Context, folder string) error) (err error) {
	parent := filepath.Dir(d.path)
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return fmt.Errorf("creating %s: %w", parent, err)
	}
	temporary, err := os.MkdirTemp(parent, "."+filepath.Base(d.path)+".scaffold-")
	if err != nil {
		return fmt.Errorf("creating a temporary folder: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temporary)) }()
	if err := os.Chmod(temporary, 0o755); err != nil {
		return fmt.Errorf("preparing the temporary folder: %w", err)
	}
	if err := tree.WriteTo(temporary); err != nil {
		return err
	}
	if err := process(ctx, temporary); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return d.receive(temporary)
}

// receive puts the content of a folder into the destination. An existing folder stays the same folder, because it may
// be the working directory of a shell.
func (d Destination) receive(temporary string) error {
	err := os.Mkdir(d.path, 0o755)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("creating %s: %w", d.path, err)
	}
	existed := err != nil
	entries, err := os.ReadDir(temporary)
	if err != nil {
		return fmt.Errorf("reading the temporary folder: %w", err)
	}
	var moved []string
	for _, entry := range entries {
		target := filepath.Join(d.path, entry.Name())
		if _, err = os.Lstat(target); err == nil {
			err = fmt.Errorf("%s appeared in the meantime", target)
		} else {
			err = os.Rename(filepath.Join(temporary, entry.Name()), target)
		}
		if err != nil {
			err = fmt.Errorf("putting files into place: %w", err)
			break
		}
		moved = append(moved, target)
	}
	if err == nil {
		return nil
	}
	for _, target := range moved {
		err = errors.Join(err, os.RemoveAll(target))
	}
	if !existed {
		err = errors.Join(err, os.Remove(d.path))
	}
	return err
}
