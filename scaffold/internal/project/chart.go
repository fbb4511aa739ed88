// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package project

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	internalhelm "github.com/component-operator/runtime/internal/helm"
	"github.com/component-operator/runtime/internal/helm/remote"
	"github.com/component-operator/runtime/pkg/manifests/helm"
	"github.com/component-operator/runtime/scaffold/internal/values"
)

// chartFolder is where a chart is in the package of the generator.
const chartFolder = "chart"

// Request says which project the contents are for.
type Request struct {
	// Reference leads to the contents: a path, or for charts what package helm/remote takes.
	Reference string
	// OperatorName is the name of the operator.
	OperatorName string
	// TypeName is the name of the type of the values.
	TypeName string
	// Reserved are names that the API package has already.
	Reserved []string
}

// Chart reads a chart from a folder, a packaged chart, a registry or a repository.
func Chart(ctx context.Context, request Request) (*Contents, error) {
	chart, err := load(ctx, request.Reference)
	if err != nil {
		return nil, err
	}
	contents := &Contents{Files: chart.Files(), Folder: chartFolder, Name: oneLine(chart.Name()), Version: chart.Version()}
	if err := contents.checkFiles(); err != nil {
		return nil, err
	}
	if contents.Types, err = values.Derive(valuesOf(chart.Anatomy()), values.Options{Name: request.TypeName, Reserved: request.Reserved}); err != nil {
		return nil, fmt.Errorf("deriving types from the values of chart %s: %w", chart.Name(), err)
	}
	contents.note(sentences(contents.Types.FreeForm)...)
	defaults, err := parseValues(contents.Types.Defaults)
	if err != nil {
		return nil, fmt.Errorf("reading the values of chart %s: %w", chart.Name(), err)
	}
	required, err := parseValues(contents.Types.Sample)
	if err != nil {
		return nil, fmt.Errorf("reading the sample for chart %s: %w", chart.Name(), err)
	}
	optional, err := parseValues(contents.Types.Optional)
	if err != nil {
		return nil, fmt.Errorf("reading optional values for chart %s: %w", chart.Name(), err)
	}
	rendered, err := helm.New(contents.fileSystem(), chartFolder, helm.Options{})
	if err != nil {
		return nil, err
	}
	asked := questionsOf(chart.Files())
	source := Rendered{
		Generator: rendered, OperatorName: request.OperatorName, Values: defaults, Required: required, Optional: optional, Choices: contents.Types.Choices,
		APIVersions: asked.apiVersions, LooksUp: asked.looksUp,
	}
	if err := contents.AddRights(ctx, source); err != nil {
		return nil, fmt.Errorf("chart %s must render with its default values and those that its schema requires: %w", chart.Name(), err)
	}
	return contents, nil
}

// load reads the chart from wherever it is.
func load(ctx context.Context, reference string) (*internalhelm.Chart, error) {
	if !remote.Is(reference) {
		if info, err := os.Stat(reference); err == nil && info.IsDir() {
			return loadFolder(reference)
		}
		return internalhelm.Load(nil, reference)
	}
	parsed, err := remote.Parse(reference)
	if err != nil {
		return nil, err
	}
	fetched, err := parsed.Fetch(ctx, remote.Options{})
	if err != nil {
		return nil, fmt.Errorf("fetching chart %s: %w", reference, err)
	}
	folder, err := os.MkdirTemp("", "scaffold-chart-")
	if err != nil {
		return nil, fmt.Errorf("unpacking the chart: %w", err)
	}
	defer func() { _ = os.RemoveAll(folder) }()
	path := filepath.Join(folder, "chart.tgz")
	if err := os.WriteFile(path, fetched.Content, 0o600); err != nil {
		return nil, fmt.Errorf("unpacking the chart: %w", err)
	}
	return internalhelm.Load(nil, path)
}

// loadFolder reads a chart from a folder. Links are followed as long as they stay in the folder.
func loadFolder(folder string) (*internalhelm.Chart, error) {
	root, err := openFolder(folder)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	chart, err := internalhelm.Load(root.FS(), ".")
	return chart, explain(root, err)
}

func valuesOf(anatomy internalhelm.Anatomy) values.Chart {
	chart := values.Chart{Values: anatomy.Values, Schema: anatomy.Schema}
	for _, dependency := range anatomy.Dependencies {
		chart.Dependencies = append(chart.Dependencies, values.Dependency{
			Name: dependency.Name, Alias: dependency.Alias, Condition: dependency.Condition, Tags: dependency.Tags, Chart: valuesOf(dependency),
		})
	}
	return chart
}
