// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package project

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing/fstest"
	"unicode"

	"golang.org/x/mod/module"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	internalhelm "github.com/component-operator/runtime/internal/helm"
	"github.com/component-operator/runtime/internal/helm/remote"
	"github.com/component-operator/runtime/internal/rights"
	"github.com/component-operator/runtime/pkg/manifests/helm"
	"github.com/component-operator/runtime/pkg/manifests/kustomize"
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

// repositories are the names, in lower case, of files and folders in which version control systems find commands that
// they run, such as hooks and file system monitors. git~1 is what Windows calls .git, too. Files such as .gitattributes
// and .gitmodules are not among them: in a folder of a repository, they can only choose among commands that the user
// has configured.
var repositories = []string{".bzr", ".git", ".hg", ".jj", ".pijul", ".sl", ".svn", "_darcs", "git~1"}

// checkRepositories refuses what a version control system takes for a repository, also on file systems that ignore
// case, or blanks at the end of a name.
func (c *Contents) checkRepositories() error {
	refuse := func(name string) error {
		return fmt.Errorf("%s: a repository of a version control system cannot be in a project, because commands of that system run what it configures; "+
			"leave it out (a chart can do so by .helmignore)", name)
	}
	exists := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(c.Files)) {
		for name := name; name != "."; name = path.Dir(name) {
			exists[strings.ToLower(name)] = true
			if slices.Contains(repositories, strings.ToLower(strings.TrimRight(path.Base(name), " "))) {
				return refuse(name)
			}
		}
	}
	// To git, a folder with such files is a bare repository, whatever its name.
	for _, name := range slices.Sorted(maps.Keys(c.Files)) {
		folder, base := path.Split(strings.ToLower(name))
		if base == "head" && (exists[folder+"commondir"] || exists[folder+"objects"] && exists[folder+"refs"]) {
			return refuse(path.Dir(name))
		}
	}
	return nil
}

// openFolder opens an untrusted folder. Links that leave it are not followed.
func openFolder(name string) (*os.Root, error) {
	root, err := os.OpenRoot(name)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	return root, nil
}

// explain adds the folder to an error, and says what links may do if it is about one.
func explain(root *os.Root, err error) error {
	if err == nil {
		return nil
	}
	var failed *fs.PathError
	if errors.As(err, &failed) {
		if info, statErr := root.Lstat(failed.Path); statErr == nil && info.Mode()&fs.ModeSymlink != 0 {
			return fmt.Errorf("reading %s: %s: a symbolic link must be relative, and lead to something in this folder: %w", root.Name(), failed.Path, failed.Err)
		}
	}
	return fmt.Errorf("reading %s: %w", root.Name(), err)
}
