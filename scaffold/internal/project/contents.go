// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package project

import (
	"context"
	"fmt"
	"path"
	"path/filepath"

	"github.com/component-operator/runtime/scaffold/internal/contents"
)

// generatorFolder has the generator of a project, with the chart or kustomization that it renders.
const generatorFolder = "pkg/generator"

// ContentsFolder returns the folder of the chart or kustomization of a project, relative to the project; empty if it
// has none.
func ContentsFolder(options *Options) string {
	switch options.Generator {
	case GeneratorHelm:
		return path.Join(generatorFolder, "chart")
	case GeneratorKustomize:
		return path.Join(generatorFolder, "kustomization")
	case GeneratorGo, GeneratorResources:
	}
	return ""
}

// LoadContents reads what the operator is built around. With a folder, it is what the project in that folder has
// already, edits included. Else errors name the flag that says where it is.
func LoadContents(ctx context.Context, options *Options, folder string) (*contents.Contents, error) {
	request := contents.Request{
		OperatorName: options.OperatorName, TypeName: options.Kind + "Values",
		Reserved: append([]string{options.Kind, options.Kind + "List", options.Kind + "Spec"}, takenKinds...),
	}
	existing := func(name, given string) string {
		if folder == "" {
			return given
		}
		return filepath.Join(folder, generatorFolder, name)
	}
	switch options.Generator {
	case GeneratorHelm:
		request.Reference = existing("chart", options.Chart)
		made, err := contents.Chart(ctx, request)
		return made, naming("chart", folder, err)
	case GeneratorKustomize:
		request.Reference = existing("kustomization", options.Kustomization)
		made, err := contents.Kustomization(ctx, request)
		return made, naming("kustomization", folder, err)
	case GeneratorGo, GeneratorResources:
	}
	return contents.Code(ctx, request)
}

// naming adds the flag to an error, unless it is about the contents of a project in a folder.
func naming(flag, folder string, err error) error {
	if err == nil || folder != "" {
		return err
	}
	return fmt.Errorf("--%s: %w", flag, err)
}
