// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package sources

import (
	"bytes"
	"context"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/json"

	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/clm/internal/signatures"
	"github.com/component-operator/runtime/internal/concurrent"
	"github.com/component-operator/runtime/internal/display"
	internalhelm "github.com/component-operator/runtime/internal/helm"
	"github.com/component-operator/runtime/internal/helm/remote"
	internalkustomize "github.com/component-operator/runtime/internal/kustomize"
	"github.com/component-operator/runtime/internal/manifest"
	"github.com/component-operator/runtime/pkg/manifests"
	"github.com/component-operator/runtime/pkg/manifests/helm"
	"github.com/component-operator/runtime/pkg/manifests/kustomize"
	"github.com/component-operator/runtime/pkg/types"
)

const (
	chartFile = "Chart.yaml"
	// componentConfigFile makes a folder a kustomization even without a kustomization file.
	componentConfigFile = ".component-config.yaml"
	// packageFile is the name in messages of a packaged chart that was fetched.
	packageFile = "package.tgz"
)

// manifestExtensions are the extensions of manifest files in a folder.
var manifestExtensions = []string{".yaml", ".yml", ".json"}

// member is a source with its generator.
type member struct {
	releases.Source
	generator    manifests.Generator
	chart        *internalhelm.Chart // only if Options.KeepCharts is set
	takesValues  bool
	takesVersion bool
	// skipsDefinitions leaves out the folders crds of a chart.
	skipsDefinitions bool
}

// load loads the source of a reference.
func load(ctx context.Context, reference string, input *input, options Options) (member, error) {
	if err := ctx.Err(); err != nil {
		return member{}, err
	}
	var err error
	if options.Remote, err = signatures.Require(options.Remote, reference, options.Namespace); err != nil {
		return member{}, err
	}
	if reference == stdinReference {
		if err := remote.Unsigned(options.Remote.Signatures); err != nil {
			return member{}, err
		}
		return loadManifests(ctx, reference, []string{stdinReference}, input)
	}
	found, err := remote.Find(reference)
	switch {
	case err != nil:
		return member{}, err
	case found != nil:
		return loadRemote(ctx, reference, *found, options)
	}
	signedBy, err := remote.Verify(reference, options.Remote.Signatures)
	if err != nil {
		return member{}, err
	}
	loaded, err := loadPath(ctx, reference, reference, input, options)
	loaded.SignedBy = signedBy
	return loaded, err
}

// loadPath loads the file or folder at a path, which is the reference itself or what was fetched for it.
func loadPath(ctx context.Context, reference, path string, input *input, options Options) (member, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return member{}, err
	case info.IsDir():
		return loadFolder(ctx, reference, path, input, options)
	default:
		return loadFile(ctx, reference, path, input, options)
	}
}

func loadFolder(ctx context.Context, reference, folder string, input *input, options Options) (member, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return member{}, err
	}
	names := display.Map(entries, fs.DirEntry.Name)
	switch {
	case slices.Contains(names, chartFile):
		return loadChartFolder(reference, folder, options)
	case options.Template || slices.Contains(names, componentConfigFile) || slices.ContainsFunc(names, internalkustomize.IsKustomization):
		return loadKustomization(reference, folder, options)
	}
	var files []string
	for _, name := range names { // sorted
		if slices.Contains(manifestExtensions, filepath.Ext(name)) {
			files = append(files, filepath.Join(folder, name))
		}
	}
	if len(files) == 0 {
		return member{}, fmt.Errorf("the directory has neither %s nor a kustomization file nor files that end with %s",
			chartFile, strings.Join(manifestExtensions, ", "))
	}
	return loadManifests(ctx, reference, files, input)
}

// loadRemote fetches a packaged chart, a file with manifests, or several files.
func loadRemote(ctx context.Context, text string, reference remote.Reference, options Options) (member, error) {
	// Generators read from file systems.
	folder, err := os.MkdirTemp("", "clm-source-")
	if err != nil {
		return member{}, err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	options.fetched, options.Remote.Unpack = folder, folder
	fetched, err := reference.Fetch(ctx, options.Remote)
	var loaded member
	switch {
	case err != nil:
		return member{}, err
	case fetched.Folder != "":
		loaded, err = loadPath(ctx, text, filepath.Join(folder, fetched.Folder), &input{}, options)
	case isCompressed(fetched.Content):
		if err = os.WriteFile(filepath.Join(folder, packageFile), fetched.Content, 0o600); err == nil {
			loaded, err = loadChart(text, os.DirFS(folder), packageFile, options)
		}
	default:
		loaded, err = manifestsMember(text, []file{{name: fetched.Name, content: fetched.Content}})
	}
	if err != nil && strings.Contains(err.Error(), folder) {
		err = errors.New(strings.ReplaceAll(err.Error(), folder+string(filepath.Separator), ""))
	}
	loaded.takesVersion, loaded.Digest, loaded.SignedBy = reference.TakesVersion(), fetched.Digest, fetched.SignedBy
	return loaded, err
}

// loadFile distinguishes packaged charts from manifests by their content, because names are not reliable.
func loadFile(ctx context.Context, reference, name string, input *input, options Options) (member, error) {
	content, err := input.file(ctx, name)
	if err != nil {
		return member{}, err
	}
	if isCompressed(content) {
		return loadChart(reference, os.DirFS(filepath.Dir(name)), filepath.Base(name), options)
	}
	return manifestsMember(reference, []file{{name: name, content: content}})
}

func isCompressed(content []byte) bool {
	return bytes.HasPrefix(content, []byte("\x1f\x8b"))
}

// loadChartFolder loads a chart from a folder.
func loadChartFolder(reference, folder string, options Options) (member, error) {
	if options.Unrestricted {
		return loadChart(reference, os.DirFS(folder), ".", options)
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return member{}, err
	}
	defer func() { _ = root.Close() }()
	loaded, err := loadChart(reference, root.FS(), ".", options)
	return loaded, ifRestricted(err)
}

// ifIncomplete replaces the advice of an error about missing dependencies by the command to run.
func ifIncomplete(reference string, isFolder bool, err error) error {
	var missing *internalhelm.MissingDependenciesError
	switch {
	case !errors.As(err, &missing):
		return err
	case isFolder && remote.Is(reference):
		return fmt.Errorf("%w; the chart was published without them", missing)
	case isFolder:
		return fmt.Errorf("%w; to put them there: clm dependency build %s", missing, reference)
	default:
		return fmt.Errorf("%w; the chart was packaged without them", missing)
	}
}

// escapes is the error text of package os for symbolic links that lead out of a folder.
const escapes = "path escapes from parent"

// ifRestricted adds advice to an error about a file that the load restrictor forbids to read.
func ifRestricted(err error) error {
	switch {
	case err == nil:
		return nil
	case strings.Contains(err.Error(), escapes):
		return fmt.Errorf("%w: it is a symbolic link that leads out of the directory of the chart; to allow that: --load-restrictor LoadRestrictionsNone", err)
	case errors.Is(err, internalkustomize.ErrOutside):
		return fmt.Errorf("%w; to allow that: --load-restrictor LoadRestrictionsNone", err)
	default:
		return err
	}
}

func loadChart(reference string, fsys fs.FS, name string, options Options) (member, error) {
	var rendering helm.Options
	if options.postRenderer != nil {
		rendering.PostRenderer = options.postRenderer
	}
	generator, err := helm.New(fsys, name, rendering)
	if err != nil {
		return member{}, ifIncomplete(reference, name == ".", err)
	}
	var kept *internalhelm.Chart
	if options.KeepCharts {
		if kept, err = internalhelm.Load(fsys, name); err != nil {
			return member{}, err
		}
	}
	chart := generator.Chart()
	return member{
		Source:      releases.Source{Reference: reference, Kind: Chart, Name: chart.Name, Version: chart.Version, AppVersion: chart.AppVersion},
		generator:   generator,
		chart:       kept,
		takesValues: true,

		skipsDefinitions: options.SkipDefinitions,
	}, nil
}

func loadKustomization(reference, folder string, options Options) (member, error) {
	fsys, name := fs.FS(nil), folder
	if fetched, err := filepath.Rel(options.fetched, folder); options.fetched != "" && err == nil {
		fsys, name = os.DirFS(options.fetched), filepath.ToSlash(fetched)
	}
	generator, err := kustomize.New(fsys, name, kustomize.Options{
		DisableTemplating: !options.Template, RootOnly: !options.Unrestricted,
	})
	if err != nil {
		return member{}, ifRestricted(err)
	}
	return member{
		Source:      releases.Source{Reference: reference, Kind: Kustomization},
		generator:   wholeNumbers{generator},
		takesValues: generator.HasTemplates(),
	}, nil
}

// loadManifests loads manifests from files. It fails if there is no file.
func loadManifests(ctx context.Context, reference string, names []string, input *input) (member, error) {
	files := make([]file, 0, len(names))
	for _, name := range names {
		content, err := input.file(ctx, name)
		if err != nil {
			return member{}, err
		}
		files = append(files, file{name: displayed(name), content: content})
	}
	return manifestsMember(reference, files)
}

func manifestsMember(reference string, files []file) (member, error) {
	var generator constant
	for _, file := range files {
		objects, err := parseManifests(file.content)
		if err != nil {
			return member{}, fmt.Errorf("parsing %s: %w", file.name, err)
		}
		generator = append(generator, objects...)
	}
	if len(generator) == 0 {
		return member{}, errors.New("there are no objects in it")
	}
	return member{Source: releases.Source{Reference: reference, Kind: Manifests}, generator: generator}, nil
}

// file is a file with manifests.
type file struct {
	name    string
	content []byte
}

// constant is a generator that returns copies of loaded objects.
type constant []*unstructured.Unstructured

// Generate returns copies of the objects.
func (c constant) Generate(ctx context.Context, _ string, _ string, _ types.Unstructurable) ([]client.Object, error) {
	objects := make([]client.Object, len(c))
	for i, object := range c {
		objects[i] = object.DeepCopy()
	}
	return objects, ctx.Err()
}

// input reads files, and standard input at most once.
type input struct {
	stdin io.Reader
	// used reports whether standard input was read.
	used bool
}

// file reads a file, or standard input. It does not wait for the writer of a pipe after the context has ended.
func (i *input) file(ctx context.Context, name string) ([]byte, error) {
	if name != stdinReference {
		return await(ctx, func() ([]byte, error) {
			opened, err := os.Open(name)
			if err != nil {
				return nil, err
			}
			defer func() { _ = opened.Close() }()
			return readAll(opened)
		})
	}
	switch {
	case i.stdin == nil:
		return nil, errors.New("there is no standard input")
	case i.used:
		return nil, errors.New("standard input can be read only once; use a file for the other")
	}
	i.used = true
	return await(ctx, func() ([]byte, error) { return readAll(i.stdin) })
}

// maxFile is the maximum size of a file in bytes, as for remote references.
const maxFile = 64 << 20

// readAll reads up to maxFile bytes; it fails if there are more.
func readAll(from io.Reader) ([]byte, error) {
	content, err := io.ReadAll(io.LimitReader(from, maxFile+1))
	if len(content) > maxFile {
		return nil, fmt.Errorf("it is larger than %d MiB", maxFile>>20)
	}
	return content, err
}

// await returns the result of a function, or the error of the context if that ends first.
func await(ctx context.Context, read func() ([]byte, error)) ([]byte, error) {
	type outcome struct {
		content []byte
		err     error
	}
	outcomes := make(chan outcome, 1)
	go func() {
		content, err := read()
		outcomes <- outcome{content, err}
	}()
	select {
	case o := <-outcomes:
		return o.content, o.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// loadValues merges values as Helm does.
func loadValues(ctx context.Context, input *input, options Options) (map[string]any, error) {
	return internalhelm.MergeValues(internalhelm.ValuesInput{
		Files:      options.ValuesFiles,
		Given:      options.Values,
		SetJSON:    options.SetJSON,
		Set:        options.Set,
		SetString:  options.SetString,
		SetFile:    options.SetFile,
		SetLiteral: options.SetLiteral,
		Read: func(name string) ([]byte, error) {
			if strings.Contains(name, "://") {
				return nil, fmt.Errorf("values must be in a local file; %s is not one", name)
			}
			return input.file(ctx, name)
		},
	})
}

// byteOrderMark may be at the beginning of files from Windows.
const byteOrderMark = "\ufeff"

// part is a document of a file.
type part struct {
	content []byte
	line    int // number of its first line, from 1
}

// parseManifests parses YAML documents concurrently; each document may instead consist of several JSON values.
func parseManifests(content []byte) ([]*unstructured.Unstructured, error) {
	if err := manifest.CheckSize(content); err != nil {
		return nil, err
	}
	split, err := splitManifests(bytes.TrimPrefix(content, []byte(byteOrderMark)))
	if err != nil {
		return nil, err
	}
	parsed, failures := make([][]*unstructured.Unstructured, len(split)), make([]error, len(split))
	concurrent.Do(len(split), func(i int) { parsed[i], failures[i] = parseDocument(split[i]) })
	var objects []*unstructured.Unstructured
	for i := range split {
		if failures[i] != nil {
			return nil, fmt.Errorf("document %d: %w", i+1, failures[i])
		}
		objects = append(objects, parsed[i]...)
	}
	return objects, nil
}

// splitManifests splits a file into its documents.
func splitManifests(content []byte) ([]part, error) {
	var split []part
	begin, offset, number, first := 0, 0, 0, 1
	for line := range bytes.Lines(content) {
		number++
		if rest, ok := bytes.CutPrefix(line, []byte("---")); ok {
			if rest = bytes.TrimSpace(rest); len(rest) > 0 && rest[0] != '#' {
				return nil, fmt.Errorf("line %d: --- separates objects; only a comment may follow it on the same line", number)
			}
			if begin < offset {
				split = append(split, part{content: content[begin:offset], line: first})
			}
			begin, first = offset+len(line), number+1
		}
		offset += len(line)
	}
	return append(split, part{content: content[begin:], line: first}), nil
}

// parseDocument parses a YAML document, or JSON values.
func parseDocument(document part) ([]*unstructured.Unstructured, error) {
	if yaml.IsJSONBuffer(document.content) {
		if values, ok, err := decodeJSON(document.content); ok {
			return objectsOf(err, values...)
		}
	}
	value, err := manifest.DecodeUnique(document.content)
	var second *manifest.SecondValueError
	var equal *manifest.EqualKeysError
	above := document.line - 1
	switch {
	case errors.As(err, &second):
		return nil, &manifest.SecondValueError{Line: above + second.Line}
	case errors.As(err, &equal):
		return nil, &manifest.EqualKeysError{Key: equal.Key, Line: above + equal.Line, First: above + equal.First}
	case err != nil:
		return nil, err
	}
	return objectsOf(nil, value)
}

// decodeJSON returns all values of a text that consists of JSON only. It fails if a field occurs twice in an object.
func decodeJSON(text []byte) (values []any, ok bool, err error) {
	for decoder := stdjson.NewDecoder(bytes.NewReader(text)); ; {
		var raw stdjson.RawMessage
		if end := decoder.Decode(&raw); end != nil {
			return values, errors.Is(end, io.EOF), err
		}
		var value any
		duplicates, malformed := json.UnmarshalStrict(raw, &value, json.DisallowDuplicateFields)
		if malformed != nil {
			return nil, false, nil
		}
		err = errors.Join(err, errors.Join(duplicates...))
		values = append(values, value)
	}
}

// objectsOf returns the values, or their items, as objects.
func objectsOf(err error, values ...any) ([]*unstructured.Unstructured, error) {
	if err != nil {
		return nil, err
	}
	var objects []*unstructured.Unstructured
	for _, value := range values {
		found, err := manifest.Objects(value, nil)
		if err != nil {
			return nil, err
		}
		objects = append(objects, found...)
	}
	return objects, nil
}
