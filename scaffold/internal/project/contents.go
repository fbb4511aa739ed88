// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package project

import (
	"context"
	"path"
	"path/filepath"

	"github.com/component-operator/runtime/scaffold/internal/contents"
)

// generatorFolder has the generator of a project, with the chart or kustomization that it renders.
const generatorFolder = "pkg/generator"

// ContentsFolder returns the folder of the chart or kustomization of a project, relative to the project; empty if it has none.
func ContentsFolder(options *Options) string {
	switch options.Generator {
	case GeneratorHelm:
		return path.Join(generatorFolder, "chart")
	case GeneratorKustomize:
		return path.Join(generatorFolder, "kustomization")
	case GeneratorGo:
	}
	return ""
}

// LoadContents reads what the operator is built around. With a folder, it is what the project in that folder has already, edits included.
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
		return contents.Chart(ctx, request)
	case GeneratorKustomize:
		request.Reference = existing("kustomization", options.Kustomization)
		return contents.Kustomization(ctx, request)
	case GeneratorGo:
	}
	return contents.Code(ctx, request)
}
