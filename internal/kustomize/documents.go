// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package kustomize

import (
	"fmt"
	"path"
	"strings"

	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/component-operator/runtime/internal/manifest"
)

// check fails if the SDK would fetch anything for the kustomization, or for one that it is based on, or if a document
// has more than one value: the SDK would silently take the first one.
func check(fsys filesys.FileSystem, folder string) error {
	if err := checkKustomization(fsys, folder); err != nil {
		return err
	}
	return Walk(fsys, folder, func(reference Reference) error {
		switch {
		case isRemote(fsys, reference):
			return fmt.Errorf("%s refers to %q, which would have to be fetched from elsewhere; "+
				"only files that come with the kustomization are allowed, so refer to a copy", reference.Source, reference.Text)
		case !reference.Documents || !fsys.Exists(reference.Path):
			return nil
		case fsys.IsDir(reference.Path):
			return checkKustomization(fsys, reference.Path)
		}
		raw, err := fsys.ReadFile(reference.Path)
		if err != nil {
			return err
		}
		if err := manifest.CheckSeparated(raw); err != nil {
			return fmt.Errorf("%s: %w", reference.Path, err)
		}
		return nil
	})
}

// checkKustomization checks the kustomization file of a folder, which is a single document, and the inline documents in
// it.
func checkKustomization(fsys filesys.FileSystem, folder string) error {
	for name := range kustomizationFiles(fsys, folder) {
		raw, err := fsys.ReadFile(name)
		if err != nil {
			return err
		}
		if err := manifest.CheckSingle(raw); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		var content any
		if sigsyaml.Unmarshal(raw, &content) != nil {
			return nil // building fails
		}
		if err := checkInline(content); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// checkInline checks texts that may be inline documents instead of references.
func checkInline(value any) error {
	switch value := value.(type) {
	case []any:
		for _, item := range value {
			if err := checkInline(item); err != nil {
				return err
			}
		}
	case map[string]any:
		for key, item := range value {
			err := checkInline(item)
			switch strings.ToLower(key) {
			case "patch", "patchesstrategicmerge", "generators", "transformers", "validators":
				err = each(item, func(text string) error {
					if err := manifest.CheckSeparated([]byte(text)); err != nil {
						return fmt.Errorf("text in %s: %w", key, err)
					}
					return nil
				})
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// kustomizationFiles yields the kustomization files of a folder; there should be one.
func kustomizationFiles(fsys Files, folder string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for _, name := range konfig.RecognizedKustomizationFileNames() {
			if source := path.Join(folder, name); fsys.Exists(source) && !fsys.IsDir(source) && !yield(source) {
				return
			}
		}
	}
}
