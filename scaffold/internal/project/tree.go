// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package project

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// A Tree has the files of a project, by their slash-separated paths.
type Tree map[string]File

// A File is a file of a project.
type File struct {
	Content []byte
	// Executable reports whether the file is a program.
	Executable bool
}

func (f File) mode() os.FileMode {
	if f.Executable {
		return 0o755
	}
	return 0o644
}

// Paths returns the paths of all files, sorted.
func (t Tree) Paths() []string {
	return slices.Sorted(maps.Keys(t))
}

// WriteTo writes all files below the folder, which is created if it does not exist.
func (t Tree) WriteTo(folder string) error {
	for _, path := range t.Paths() {
		target := filepath.Join(folder, filepath.FromSlash(path))
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return fmt.Errorf("writing %s: %w", path, err)
		}
		if err := os.WriteFile(target, t[path].Content, t[path].mode()); err != nil {
			return fmt.Errorf("writing %s: %w", path, err)
		}
	}
	return nil
}
