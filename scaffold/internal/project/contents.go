// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package project

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing/fstest"
	"unicode"

	"golang.org/x/mod/module"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"github.com/component-operator/runtime/internal/rights"
	"github.com/component-operator/runtime/scaffold/internal/values"
)

// Contents are what an operator is built around.
type Contents struct {
	// Files are copied into the project, by their paths below Folder.
	Files map[string][]byte
	// Folder is the name of the folder in the package of the generator; empty without files.
	Folder string
	// Name and Version are those of the chart; empty for others.
	Name, Version string
	// Types are the types of the values; nil if there are none.
	Types *values.Types
	// Rules are the rights that the operator needs for the dependents.
	Rules []rbacv1.PolicyRule
	// Needs are ways to use the operator that the dependents require.
	Needs []rights.Need
	// Notes say what could not be known, one sentence each.
	Notes []string
	// Random means that two renderings with the same values differ.
	Random bool
}

// oneLine returns a text that came from a chart as a single line without control characters.
func oneLine(text string) string {
	printable := strings.Map(func(c rune) rune {
		if unicode.IsPrint(c) {
			return c
		}
		return ' '
	}, text)
	return strings.Join(strings.Fields(printable), " ")
}

// checkFiles refuses what the go command does not embed, and what commands would run that the author of the project
// uses.
func (c *Contents) checkFiles() error {
	for _, name := range slices.Sorted(maps.Keys(c.Files)) {
		if err := module.CheckFilePath(c.Folder + "/" + name); err != nil {
			return fmt.Errorf("%s: a file of that name cannot be embedded into a program: %w", name, err)
		}
		if strings.EqualFold(path.Base(name), "go.mod") {
			return fmt.Errorf("%s: a folder with a Go module cannot be embedded into a program", name)
		}
	}
	return c.checkRepositories()
}

// fileSystem returns the files as the generator of the program will see them.
func (c *Contents) fileSystem() fs.FS {
	files := fstest.MapFS{}
	for name, content := range c.Files {
		files[path.Join(c.Folder, name)] = &fstest.MapFile{Data: content, Mode: 0o644}
	}
	return files
}

// parseValues reads values in YAML.
func parseValues(content []byte) (map[string]any, error) {
	values := map[string]any{}
	if err := yaml.Unmarshal(content, &values); err != nil {
		return nil, err
	}
	return values, nil
}

// sentences turns notes on types into sentences.
func sentences(notes []values.Note) []string {
	texts := make([]string, 0, len(notes))
	for _, note := range notes {
		place := "The values"
		if note.Path != "" {
			place = "Value `" + note.Path + "`"
		}
		texts = append(texts, place+": "+strings.TrimSuffix(note.Reason, ".")+".")
	}
	return slices.Compact(texts)
}

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
func LoadContents(ctx context.Context, options *Options, folder string) (*Contents, error) {
	request := Request{
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
		made, err := Chart(ctx, request)
		return made, naming("chart", folder, err)
	case GeneratorKustomize:
		request.Reference = existing("kustomization", options.Kustomization)
		made, err := Kustomization(ctx, request)
		return made, naming("kustomization", folder, err)
	case GeneratorGo, GeneratorResources:
	}
	return Code(ctx, request)
}

// naming adds the flag to an error, unless it is about the contents of a project in a folder.
func naming(flag, folder string, err error) error {
	if err == nil || folder != "" {
		return err
	}
	return fmt.Errorf("--%s: %w", flag, err)
}
