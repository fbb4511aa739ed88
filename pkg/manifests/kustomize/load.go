// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package kustomize

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/component-operator/runtime/internal/kustomize"
	"github.com/component-operator/runtime/internal/templating"
)

// kustomization is a folder whose templates are rendered before Kustomize gets the files.
type kustomization struct {
	// folder is a path of the source.
	folder string
	config config
	// readable holds the files that templates can read, by the paths that they use.
	readable map[string][]byte
	// outputs are the files that Kustomize gets, by their paths relative to the folder.
	outputs map[string]output
	// templates is nil if there are none.
	templates *templating.Set
}

// output is a file for Kustomize: either the result of a template, or the original content.
type output struct {
	template string
	content  []byte
}

// loader reads a kustomization and those that it includes.
type loader struct {
	source  *source
	folders []string
	loaded  []*kustomization
}

// load reads the kustomization in the folder.
func (l *loader) load(folder string, options Options) error {
	for _, other := range l.folders {
		if contains(other, folder) || contains(folder, other) {
			return fmt.Errorf("kustomization %s overlaps with kustomization %s, by which it is included", l.source.displayed(folder), l.source.displayed(other))
		}
	}
	l.folders = append(l.folders, folder)
	l.source.bounds.add(folder)
	k := &kustomization{folder: folder, readable: map[string][]byte{}, outputs: map[string]output{}}
	if err := k.read(l.source, options); err != nil {
		return fmt.Errorf("reading kustomization %s: %w", l.source.displayed(folder), err)
	}
	l.loaded = append(l.loaded, k)

	// They get the options about which files are read, but not the suffix and delimiters of templates.
	inherited := Options{Decryptor: options.Decryptor, DisableTemplating: options.DisableTemplating, RootOnly: options.RootOnly}
	for _, name := range k.config.includedKustomizations {
		target, err := k.outside(name)
		if err != nil {
			return fmt.Errorf("reading kustomization %s: includedKustomizations: %w", l.source.displayed(folder), err)
		}
		if options.RootOnly && !isKustomization(l.source, target) {
			return fmt.Errorf("reading kustomization %s: includedKustomizations: %w: %s is not a kustomization", l.source.displayed(folder), kustomize.ErrOutside, name)
		}
		if err := l.load(target, inherited); err != nil {
			return err
		}
	}
	return nil
}

// isKustomization reports whether a folder has a kustomization file or a configuration file.
func isKustomization(source *source, folder string) bool {
	entries, err := fs.ReadDir(source.fsys, relative(folder))
	return err == nil && slices.ContainsFunc(entries, func(entry fs.DirEntry) bool {
		return entry.Name() == configFile || kustomize.IsKustomization(entry.Name())
	})
}

func (k *kustomization) read(source *source, options Options) error {
	files, err := source.list(k.folder)
	if err != nil {
		return err
	}
	if k.config, err = readConfig(source, k.folder, options); err != nil {
		return err
	}
	rules, err := readIgnoreRules(source, k.folder)
	if err != nil {
		return err
	}
	var templates []templating.File
	for _, file := range files {
		template, err := k.readFile(source, file, rules)
		if err != nil {
			return err
		}
		if template != nil {
			templates = append(templates, *template)
		}
	}
	if err := k.parse(templates); err != nil {
		return err
	}
	if err := k.complete(); err != nil {
		return err
	}
	return k.readIncluded(source)
}

// readFile reads a file of the kustomization. It returns the file if it is a template.
func (k *kustomization) readFile(source *source, file string, rules ignoreRules) (*templating.File, error) {
	name := k.relative(file)
	content, err := source.read(file)
	if err != nil {
		return nil, err
	}
	k.readable[name] = content
	switch base := path.Base(name); {
	case base == configFile || base == ignoreFile || rules.match(name):
		return nil, nil
	case k.config.templating && strings.HasSuffix(name, k.config.suffix):
		return &templating.File{Name: name, Text: string(content)}, nil
	default:
		return nil, k.addOutput(name, output{content: content})
	}
}

// relative returns the path of a file of the kustomization relative to its folder.
func (k *kustomization) relative(file string) string {
	return strings.TrimPrefix(strings.TrimPrefix(file, k.folder), "/")
}

func (k *kustomization) parse(templates []templating.File) error {
	for _, template := range templates {
		if err := k.addOutput(strings.TrimSuffix(template.Name, k.config.suffix), output{template: template.Name}); err != nil {
			return err
		}
	}
	if len(templates) == 0 {
		return nil
	}
	set, err := templating.Parse(templates, templating.Options{
		LeftDelimiter: k.config.left, RightDelimiter: k.config.right, Functions: (&occasion{}).functions(),
	})
	k.templates = set
	return err
}

func (k *kustomization) addOutput(name string, file output) error {
	if _, ok := k.outputs[name]; ok || name == "" || strings.HasSuffix(name, "/") {
		return fmt.Errorf("%s, without suffix %s, has no name or that of another file", file.template, k.config.suffix)
	}
	k.outputs[name] = file
	return nil
}

// complete adds a kustomization file that lists all manifests, unless there is one.
func (k *kustomization) complete() error {
	var resources []string
	for name := range k.outputs {
		if kustomize.IsKustomization(name) {
			return nil
		}
		hidden := strings.HasPrefix(name, ".") || strings.Contains(name, "/.")
		if extension := path.Ext(name); !hidden && (extension == ".yaml" || extension == ".yml") {
			resources = append(resources, "./"+name)
		}
	}
	slices.Sort(resources)
	content := map[string]any{"resources": resources}
	if len(resources) == 0 {
		// Kustomize refuses an empty kustomization. This one has a directive without effect.
		content = map[string]any{"namespace": "_dummy"}
	}
	raw, err := yaml.Marshal(content)
	if err != nil {
		return err
	}
	return k.addOutput("kustomization.yaml", output{content: raw})
}

// readIncluded reads the files outside the folder that templates can read.
func (k *kustomization) readIncluded(source *source) error {
	for _, name := range k.config.includedFiles {
		if source.bounds != nil {
			return fmt.Errorf("includedFiles: %w: %s", kustomize.ErrOutside, name)
		}
		target, err := k.outside(name)
		if err != nil {
			return fmt.Errorf("includedFiles: %w", err)
		}
		info, err := source.stat(target)
		if err != nil {
			return fmt.Errorf("includedFiles: %w", err)
		}
		files := []string{target}
		if info.IsDir() {
			if files, err = source.list(target); err != nil {
				return fmt.Errorf("includedFiles: %w", err)
			}
		}
		for _, file := range files {
			content, err := source.read(file)
			if err != nil {
				return fmt.Errorf("includedFiles: %w", err)
			}
			k.readable[path.Join(name, strings.TrimPrefix(file, target))] = content
		}
	}
	return nil
}

// outside resolves a path that must be relative and lead out of the folder.
func (k *kustomization) outside(name string) (string, error) {
	if name == "" || path.IsAbs(name) {
		return "", fmt.Errorf("path %q is not relative", name)
	}
	if strings.Count(path.Clean(name)+"/", "../") > strings.Count(strings.TrimSuffix(k.folder, "/"), "/") {
		return "", fmt.Errorf("path %q leads out of the file system", name)
	}
	target := path.Join(k.folder, name)
	if contains(k.folder, target) {
		return "", fmt.Errorf("path %q lies within the kustomization; it must lead out of it", name)
	}
	return target, nil
}
