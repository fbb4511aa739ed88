// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package project

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// A Tree has the contents of the files of a project, by their slash-separated paths.
type Tree map[string][]byte

// modeOf returns the mode of a file with this content: scripts are executable.
func modeOf(content []byte) os.FileMode {
	if bytes.HasPrefix(content, []byte("#!")) {
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
		if err := os.WriteFile(target, t[path], modeOf(t[path])); err != nil {
			return fmt.Errorf("writing %s: %w", path, err)
		}
	}
	return nil
}
