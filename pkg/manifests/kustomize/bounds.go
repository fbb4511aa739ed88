// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package kustomize

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/component-operator/runtime/internal/kustomize"
)

// bounds are the folders from which a kustomization may read. A symbolic link in them must not lead out of them.
type bounds struct {
	// roots are absolute and slash-separated.
	roots []string
	// resolve follows the symbolic links of a path.
	resolve func(name string) (string, error)
}

// newBounds returns bounds without folders. Only paths of the operating system are resolved: other file systems keep
// their links within themselves.
func newBounds(native bool) *bounds {
	b := &bounds{resolve: func(name string) (string, error) { return name, nil }}
	if native {
		b.resolve = func(name string) (string, error) {
			resolved, err := filepath.EvalSymlinks(filepath.FromSlash(name))
			return filepath.ToSlash(resolved), err
		}
	}
	return b
}

// add allows reading in a folder.
func (b *bounds) add(folder string) {
	if b != nil && !slices.Contains(b.roots, folder) {
		b.roots = append(b.roots, folder)
	}
}

// check returns kustomize.ErrOutside if a file or folder must not be read, or another error if that is unknown, for
// instance because it does not exist.
func (b *bounds) check(name string) error {
	if b == nil {
		return nil
	}
	resolved, err := b.resolve(name)
	if err != nil {
		return err
	}
	for _, root := range b.roots {
		if !contains(root, name) {
			continue
		}
		folder, err := b.resolve(root)
		if err != nil {
			return err
		}
		if contains(folder, resolved) {
			return nil
		}
	}
	if resolved != name {
		return fmt.Errorf("%w: %s is a symbolic link, or below one, and leads to %s", kustomize.ErrOutside, name, resolved)
	}
	return fmt.Errorf("%w: %s", kustomize.ErrOutside, name)
}
