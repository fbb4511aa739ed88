// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package project

import (
	"context"
	"fmt"
	"io/fs"

	"github.com/component-operator/runtime/pkg/manifests/kustomize"
)

// kustomizationFolder is where a kustomization is in the package of the generator.
const kustomizationFolder = "kustomization"

// Kustomization reads a kustomization from a folder. References that lead out of the folder are refused: the program
// has nothing but the folder.
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
	if err := contents.AddRights(ctx, Rendered{Generator: rendered, OperatorName: request.OperatorName}); err != nil {
		return nil, fmt.Errorf("the kustomization in %s must render without parameters, and without files outside of this folder: %w", request.Reference, err)
	}
	return contents, nil
}

// readFolder reads all files; links to files are followed as long as they stay in the folder. What git stores for a
// checkout is left out.
func (c *Contents) readFolder(folder string) error {
	root, err := openFolder(folder)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	return fs.WalkDir(root.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return explain(root, err)
		case name == ".git" && entry.IsDir():
			return fs.SkipDir
		case name == ".git" || entry.IsDir():
			return nil
		}
		info, err := root.Stat(name)
		if err != nil {
			return explain(root, err)
		}
		if !info.Mode().IsRegular() {
			return fmt.Errorf("%s: %s: must be a file, a folder, or a link to a file", folder, name)
		}
		c.Files[name], err = root.ReadFile(name)
		return explain(root, err)
	})
}
