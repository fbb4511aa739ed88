// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package kustomize

import (
	"bufio"
	"bytes"
	"fmt"
	"maps"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/component-operator/runtime/internal/manifest"
)

// Files is the file system that Walk reads. Paths are slash-separated.
type Files interface {
	Exists(path string) bool
	IsDir(path string) bool
	ReadFile(path string) ([]byte, error)
}

// Reference refers to a file or folder.
type Reference struct {
	// Text is the reference as written.
	Text string
	// Path is its path on the file system, which may not exist.
	Path string
	// Source is the path of the file with the reference.
	Source string
	// Base marks references that may lead to another kustomization.
	Base bool
	// Documents marks files from which the SDK reads YAML documents.
	Documents bool
}

// IsKustomization reports whether a file with the given name makes its folder a kustomization.
func IsKustomization(name string) bool {
	return slices.Contains(konfig.RecognizedKustomizationFileNames(), name)
}

// Walk calls visit with all references in the kustomization of the given folder, and then with those of the
// kustomizations that it refers to. This includes references in the configuration of generators, transformers and
// validators. Walk ignores files that are not valid YAML, and does not follow references to missing files; building
// fails for them anyway. It stops at the first error of visit.
func Walk(files Files, folder string, visit func(Reference) error) error {
	w := &walker{files: files, visit: visit, seen: map[visited]bool{}}
	return w.kustomization(folder, false)
}

// visited is a folder or file in one of two roles.
type visited struct {
	path    string
	configs bool
}

type walker struct {
	files Files
	visit func(Reference) error
	seen  map[visited]bool
}

// kustomization visits the kustomization in a folder. If its resources serve as configuration, configs is true.
func (w *walker) kustomization(folder string, configs bool) error {
	if w.seen[visited{folder, configs}] {
		return nil
	}
	w.seen[visited{folder, configs}] = true
	for source := range kustomizationFiles(w.files, folder) {
		raw, err := w.files.ReadFile(source)
		if err != nil {
			return err
		}
		if err := manifest.CheckSize(raw); err != nil {
			return fmt.Errorf("%s: %w", source, err)
		}
		var content map[string]any
		if err := sigsyaml.Unmarshal(raw, &content); err != nil {
			continue
		}
		if err := w.fields(place{folder, source}, content, configs); err != nil {
			return err
		}
	}
	return nil
}

// place is the folder that references are relative to, and the file that contains them.
type place struct{ folder, source string }

// fields visits the references in the fields of a kustomization.
func (w *walker) fields(at place, content map[string]any, configs bool) error {
	for _, key := range slices.Sorted(maps.Keys(content)) {
		var err error
		value := content[key]
		// The SDK ignores the case of keys.
		switch strings.ToLower(key) {
		case "resources", "bases", "components":
			err = each(value, func(text string) error { return w.base(at, text, configs) })
		case "generators", "transformers", "validators":
			err = each(value, func(text string) error { return w.config(at, text) })
		case "crds", "configurations", "patchesstrategicmerge":
			err = each(value, func(text string) error { return w.file(at, text, true) })
		case "openapi", "patches", "patchesjson6902", "replacements", "configmapgenerator", "secretgenerator":
			err = w.nested(at, value)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// base visits a reference to a file or a kustomization.
func (w *walker) base(at place, text string, configs bool) error {
	reference := at.reference(text, true)
	if err := w.visit(reference); err != nil {
		return err
	}
	switch {
	case w.files.IsDir(reference.Path):
		return w.kustomization(reference.Path, configs)
	case configs && w.files.Exists(reference.Path):
		if w.seen[visited{reference.Path, true}] {
			return nil
		}
		w.seen[visited{reference.Path, true}] = true
		raw, err := w.files.ReadFile(reference.Path)
		if err != nil {
			return err
		}
		return w.documents(place{at.folder, reference.Path}, raw)
	}
	return nil
}

// config visits an entry that is inline configuration or a reference to configuration.
func (w *walker) config(at place, text string) error {
	if strings.Contains(text, "\n") || strings.Contains(text, "{") {
		return w.documents(at, []byte(text))
	}
	return w.base(at, text, true)
}

func (w *walker) documents(at place, raw []byte) error {
	if err := manifest.CheckSize(raw); err != nil {
		return fmt.Errorf("%s: %w", at.source, err)
	}
	reader := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(raw)))
	for {
		document, err := reader.Read()
		if err != nil {
			return nil //nolint:nilerr // it is the end, since reading from memory does not fail
		}
		var content any
		if err := sigsyaml.Unmarshal(document, &content); err != nil {
			continue
		}
		if err := w.nested(at, content); err != nil {
			return err
		}
	}
}

// nested visits references below the keys that contain files in generators and transformers of any kind.
func (w *walker) nested(at place, value any) error {
	switch value := value.(type) {
	case []any:
		for _, item := range value {
			if err := w.nested(at, item); err != nil {
				return err
			}
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			var err error
			item := value[key]
			switch strings.ToLower(key) {
			case "path", "paths":
				err = each(item, func(text string) error { return w.file(at, text, true) })
			case "env", "envs", "targetfilepath":
				err = each(item, func(text string) error { return w.file(at, text, false) })
			case "files":
				err = each(item, func(text string) error { return w.file(at, text[strings.Index(text, "=")+1:], false) })
			default:
				err = w.nested(at, item)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// file visits a reference to a file. A text with several lines is inline content.
func (w *walker) file(at place, text string, documents bool) error {
	if strings.Contains(text, "\n") {
		return nil
	}
	reference := at.reference(text, false)
	reference.Documents = documents
	return w.visit(reference)
}

func (p place) reference(text string, base bool) Reference {
	target := text
	if !path.IsAbs(text) {
		target = path.Join(p.folder, text)
	}
	return Reference{Text: text, Path: path.Clean(target), Source: p.source, Base: base, Documents: base}
}

// each calls the function with a text, or with all texts of a list.
func each(value any, call func(string) error) error {
	switch value := value.(type) {
	case string:
		return call(value)
	case []any:
		for _, item := range value {
			if err := each(item, call); err != nil {
				return err
			}
		}
	}
	return nil
}

// isRemote reports whether the SDK would fetch the target of a reference.
func isRemote(fsys filesys.FileSystem, reference Reference) bool {
	if isURL(reference.Text) {
		return true
	}
	// The SDK prefers a file of that name to a repository, but a repository to a folder.
	isRepository := repository.MatchString(strings.TrimSpace(reference.Text))
	return reference.Base && isRepository && (!fsys.Exists(reference.Path) || fsys.IsDir(reference.Path))
}

func isURL(text string) bool {
	parsed, err := url.Parse(text)
	return err == nil && (parsed.Scheme == "http" || parsed.Scheme == "https")
}

// repository matches the references that the SDK passes to git, and some more: a URL, the short form for ssh, or a host
// that needs no scheme.
var repository = regexp.MustCompile(`(?i)^(git::)?((ssh|https?|file)://|[a-z][a-z0-9-]*@|github\.com[/:])`)
