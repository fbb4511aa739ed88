// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package contents

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/component-operator/runtime/pkg/manifests/kustomize"
	"github.com/component-operator/runtime/scaffold/internal/permissions"
)

// kustomizationFolder is where a kustomization is in the package of the generator.
const kustomizationFolder = "kustomization"

// Kustomization reads a kustomization from a folder. References that lead out of the folder are refused: the program has nothing but the folder.
func Kustomization(ctx context.Context, request Request) (*Contents, error) {
	contents := &Contents{Files: map[string][]byte{}, Folder: kustomizationFolder}
	if err := contents.readFolder(request.Reference); err != nil {
		return nil, err
	}
	if err := contents.checkFiles(); err != nil {
		return nil, err
	}
	rendered, err := kustomize.New(contents.fileSystem(), kustomizationFolder, kustomize.Options{})
	if err != nil {
		return nil, fmt.Errorf("%s is no kustomization that can be embedded: %w", request.Reference, err)
	}
	if err := contents.complete(ctx, permissions.Source{Generator: rendered, OperatorName: request.OperatorName}); err != nil {
		return nil, fmt.Errorf("the kustomization in %s must render without parameters, and without files outside of this folder: %w", request.Reference, err)
	}
	return contents, nil
}

// readFolder reads all files; links to files are followed.
func (c *Contents) readFolder(folder string) error {
	return filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return fmt.Errorf("reading %s: %w", folder, err)
		}
		if entry.IsDir() {
			if entry.Name() == ".git" {
				return fs.SkipDir
			}
			return nil
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return fmt.Errorf("reading %s: %w", folder, err)
		}
		name, err := filepath.Rel(folder, path)
		if err != nil {
			return fmt.Errorf("reading %s: %w", folder, err)
		}
		c.Files[filepath.ToSlash(name)] = content
		return nil
	})
}
