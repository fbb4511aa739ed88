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
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	internalhelm "github.com/component-operator/runtime/internal/helm"
	"github.com/component-operator/runtime/internal/helm/remote"
	"github.com/component-operator/runtime/internal/rights"
	"github.com/component-operator/runtime/pkg/manifests/helm"
	"github.com/component-operator/runtime/pkg/manifests/kustomize"
	"github.com/component-operator/runtime/scaffold/internal/values"
)

// The contents of an operator are in a folder in the package of the generator. The flag for their source has the name
// of the folder.
const (
	chartFolder         = "chart"
	kustomizationFolder = "kustomization"
)

// Request describes the project that contents are read for.
type Request struct {
	// Reference is the source of the contents: a path or, for charts, any reference that package helm/remote accepts.
	Reference string
	// OperatorName is the name of the operator.
	OperatorName string
	// TypeName is the name of the type of the values.
	TypeName string
	// SetString are texts that win over other values, in the syntax of Helm's flag --set-string.
	SetString []string
	// Reserved are names that the API package already uses.
	Reserved []string
}

// Chart reads a chart from a folder, a packaged chart, a registry or a repository.
func Chart(ctx context.Context, request Request) (*Contents, error) {
	chart, err := load(ctx, request.Reference)
	if err != nil {
		return nil, err
	}
	contents := &Contents{Files: chart.Files(), Folder: chartFolder, Name: oneLine(chart.Name())}
	if err := contents.checkFiles(); err != nil {
		return nil, err
	}
	rendered, err := helm.New(contents.fileSystem(), chartFolder, helm.Options{SetString: request.SetString})
	if err != nil {
		return nil, err
	}
	source := Rendered{Generator: rendered, OperatorName: request.OperatorName}
	source.APIVersions, source.LooksUp = questionsOf(contents.Files)
	render := func(values map[string]any) ([]*unstructured.Unstructured, error) {
		return source.render(ctx, example, values, source.APIVersions)
	}
	if contents.Types, err = values.Derive(chart.Anatomy(), render, request.TypeName, request.Reserved...); err != nil {
		return nil, fmt.Errorf("deriving types from the values of chart %s: %w", chart.Name(), err)
	}
	if err := contents.AddRights(ctx, source); err != nil {
		return nil, fmt.Errorf("chart %s must render with its default values and those that its schema requires: %w", chart.Name(), err)
	}
	return contents, nil
}

// load reads the chart from a path or a remote reference.
func load(ctx context.Context, reference string) (*internalhelm.Chart, error) {
	if !remote.Is(reference) {
		if info, err := os.Stat(reference); err != nil || !info.IsDir() {
			return internalhelm.Load(nil, reference)
		}
		var chart *internalhelm.Chart
		err := inFolder(reference, func(root *os.Root) (err error) {
			chart, err = internalhelm.Load(root.FS(), ".")
			return err
		})
		return chart, err
	}
	parsed, err := remote.Parse(reference)
	if err != nil {
		return nil, err
	}
	fetched, err := parsed.Fetch(ctx, remote.Options{})
	if err != nil {
		return nil, fmt.Errorf("fetching chart %s: %w", reference, err)
	}
	chart, err := internalhelm.Load(fstest.MapFS{"chart.tgz": &fstest.MapFile{Data: fetched.Content}}, "chart.tgz")
	if err != nil {
		return nil, fmt.Errorf("chart %s: %w", reference, err)
	}
	return chart, nil
}

// Kustomization reads a kustomization from a folder. It refuses references that lead out of the folder, because the
// program embeds nothing else.
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

// readFolder reads all files. It follows links to files within the folder, and leaves out git's own data.
func (c *Contents) readFolder(folder string) error {
	return inFolder(folder, func(root *os.Root) error {
		return fs.WalkDir(root.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case name == ".git" && entry.IsDir():
				return fs.SkipDir
			case name == ".git" || entry.IsDir():
				return nil
			}
			info, err := root.Stat(name)
			if err != nil {
				return err
			}
			if !info.Mode().IsRegular() {
				return fmt.Errorf("%s: must be a file, a folder, or a link to a file", name)
			}
			c.Files[name], err = root.ReadFile(name)
			return err
		})
	})
}

// Contents are the chart, kustomization or code that an operator is built around, with everything derived from them.
type Contents struct {
	// Files are copied into the project, by their paths below Folder.
	Files map[string][]byte
	// Folder is the name of the folder in the package of the generator; empty without files.
	Folder string
	// Name is the name of the chart; empty for other contents.
	Name string
	// Types are the types of the values; nil if there are none.
	Types *values.Types
	// Rules are the rights that the operator needs for the dependents.
	Rules []rbacv1.PolicyRule
	// Needs are uses of the operator that the dependents require.
	Needs []rights.Need
	// Reasons say for what the operator needs rights on resources.
	Reasons map[schema.GroupResource][]string
	// Notes describe what could not be determined, one sentence each.
	Notes []string
	// Several says how many components can exist side by side.
	Several Several
	// Random means that two renderings with the same values differ.
	Random bool
}

// Several says how many components can exist side by side.
type Several int

const (
	// AnyNumber means that components do not share objects.
	AnyNumber Several = iota
	// OnePerNamespace means that two components of a namespace would share objects.
	OnePerNamespace
	// OnePerCluster means that any two components would share objects.
	OnePerCluster
)

// ValueNotes describe the values whose types do not say all that the chart requires, one sentence each.
func (c *Contents) ValueNotes() []string {
	if c.Types == nil {
		return nil
	}
	var notes []string
	for _, note := range c.Types.FreeForm {
		place := "The values"
		if note.Path != "" {
			place = "`" + note.Path + "`"
		}
		notes = append(notes, oneLine(place+": "+strings.TrimSuffix(note.Reason, ".")+"."))
	}
	return notes
}

// oneLine returns a text from a chart as a single line without control characters.
func oneLine(text string) string {
	printable := strings.Map(func(c rune) rune {
		if unicode.IsPrint(c) {
			return c
		}
		return ' '
	}, text)
	return strings.Join(strings.Fields(printable), " ")
}

// checkFiles refuses files that the go command does not embed, and files with commands that the tools of the project's
// author would run.
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

// fileSystem returns the files as the generator of the program sees them.
func (c *Contents) fileSystem() fs.FS {
	files := fstest.MapFS{}
	for name, content := range c.Files {
		files[path.Join(c.Folder, name)] = &fstest.MapFile{Data: content, Mode: 0o644}
	}
	return files
}

// generatorFolder contains the generator of a project, with its chart or kustomization.
const generatorFolder = "pkg/generator"

// ContentsFolder returns the folder of the chart or kustomization of a project, relative to the project; empty if it
// has none.
func ContentsFolder(options *Options) string {
	switch options.Generator {
	case GeneratorHelm:
		return path.Join(generatorFolder, chartFolder)
	case GeneratorKustomize:
		return path.Join(generatorFolder, kustomizationFolder)
	case GeneratorGo, GeneratorResources:
	}
	return ""
}

// LoadContents reads the contents of the operator. With a folder, it reads the contents of the existing project in it,
// edits included. Otherwise, errors name the flag for the source.
func LoadContents(ctx context.Context, options *Options, folder string) (*Contents, error) {
	request := Request{
		OperatorName: options.OperatorName, TypeName: options.Kind + "Values",
		Reserved: append([]string{options.Kind, options.Kind + "List", options.Kind + "Spec"}, takenKinds...),
	}
	for _, assignment := range options.SetString {
		request.SetString = append(request.SetString, os.Expand(assignment, func(name string) string { return options.Environment[name] }))
	}
	read, flag := Code, ""
	switch options.Generator {
	case GeneratorHelm:
		read, flag, request.Reference = Chart, chartFolder, options.Chart
	case GeneratorKustomize:
		read, flag, request.Reference = Kustomization, kustomizationFolder, options.Kustomization
	case GeneratorGo, GeneratorResources:
	}
	if folder != "" {
		request.Reference = filepath.Join(folder, ContentsFolder(options))
	}
	contents, err := read(ctx, request)
	if err != nil && folder == "" && flag != "" {
		return nil, fmt.Errorf("--%s: %w", flag, err)
	}
	return contents, err
}

// repositories are the names, in lower case, of files and folders from which version control systems run commands, such
// as hooks and file system monitors. git~1 is a Windows name of .git. Files such as .gitattributes and .gitmodules are
// not in the list: in a subfolder of a repository, they can only choose among commands that the user has configured.
var repositories = []string{".bzr", ".git", ".hg", ".jj", ".pijul", ".sl", ".svn", "_darcs", "git~1"}

// checkRepositories refuses files that a version control system treats as a repository, even on file systems that
// ignore case or trailing blanks in names.
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
	// Git treats a folder with such files as a bare repository, regardless of its name.
	for _, name := range slices.Sorted(maps.Keys(c.Files)) {
		folder, base := path.Split(strings.ToLower(name))
		if base == "head" && (exists[folder+"commondir"] || exists[folder+"objects"] && exists[folder+"refs"]) {
			return refuse(path.Dir(name))
		}
	}
	return nil
}

// inFolder reads from an untrusted folder. It does not follow links out of it. Errors name the folder; for a link, they
// also describe which links are allowed.
func inFolder(name string, read func(root *os.Root) error) error {
	root, err := os.OpenRoot(name)
	if err != nil {
		return fmt.Errorf("reading %s: %w", name, err)
	}
	defer func() { _ = root.Close() }()
	if err = read(root); err == nil {
		return nil
	}
	if failed := (*fs.PathError)(nil); errors.As(err, &failed) {
		if info, statErr := root.Lstat(failed.Path); statErr == nil && info.Mode()&fs.ModeSymlink != 0 {
			return fmt.Errorf("reading %s: %s: a symbolic link must be relative, and lead to something in this folder: %w", name, failed.Path, failed.Err)
		}
	}
	return fmt.Errorf("reading %s: %w", name, err)
}
