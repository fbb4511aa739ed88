// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package kustomize

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/format/gitignore"
	"sigs.k8s.io/yaml"

	"github.com/component-operator/runtime/internal/kustomize"
	"github.com/component-operator/runtime/internal/templating"
	"github.com/component-operator/runtime/pkg/manifests"
)

// source reads files and decrypts them, each at most once. Paths are absolute, slash-separated, and begin at the top of
// the file system.
type source struct {
	fsys      fs.FS
	decryptor manifests.Decryptor
	// displayed shortens paths to the form that the caller has used.
	displayed func(name string) string
	files     map[string][]byte
	// bounds restrict which files may be read; nil allows all.
	bounds *bounds
}

// newSource also returns the path of the kustomization within the source.
func newSource(fsys fs.FS, name string, decryptor manifests.Decryptor) (*source, string, error) {
	s := &source{fsys: fsys, decryptor: decryptor, files: map[string][]byte{}}
	if fsys != nil {
		s.displayed = func(name string) string { return path.Clean(strings.TrimPrefix(name, "/")) }
		cleaned := path.Clean(strings.TrimLeft(name, "/"))
		if !fs.ValidPath(cleaned) {
			return nil, "", errors.New("the path leads out of the file system")
		}
		return s, path.Join("/", cleaned), nil
	}
	s.displayed = func(name string) string { return name }
	s.fsys = os.DirFS("/")
	absolute, err := filepath.Abs(name)
	if err != nil {
		return nil, "", err
	}
	// The meaning of ../base depends on the real location of the folder.
	if absolute, err = filepath.EvalSymlinks(absolute); err != nil {
		return nil, "", err
	}
	return s, filepath.ToSlash(absolute), nil
}

// relative returns the path in the form that fs.FS needs.
func relative(name string) string {
	if name = strings.TrimPrefix(name, "/"); name == "" {
		return "."
	}
	return name
}

func (s *source) stat(name string) (fs.FileInfo, error) {
	return fs.Stat(s.fsys, relative(name))
}

// read returns the content of a regular file, which must not be changed.
func (s *source) read(name string) ([]byte, error) {
	if content, ok := s.files[name]; ok {
		return content, nil
	}
	if err := s.bounds.check(name); err != nil {
		return nil, err
	}
	content, err := fs.ReadFile(s.fsys, relative(name))
	if err != nil {
		return nil, err
	}
	if s.decryptor != nil {
		if content, err = s.decryptor.Decrypt(content, s.displayed(name)); err != nil {
			return nil, fmt.Errorf("decrypting %s: %w", s.displayed(name), err)
		}
	}
	s.files[name] = content
	return content, nil
}

// list returns the paths of all files in and below a folder, sorted. It follows symbolic links, unless they lead out of
// the bounds.
func (s *source) list(folder string) ([]string, error) {
	info, err := s.stat(folder)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("%s is not a folder", s.displayed(folder))
	}
	return s.listBelow(folder, []fs.FileInfo{info})
}

// listBelow is list with the folders on the path; the last one is the folder to list.
func (s *source) listBelow(folder string, parents []fs.FileInfo) ([]string, error) {
	entries, err := fs.ReadDir(s.fsys, relative(folder))
	if err != nil {
		return nil, err
	}
	var found []string
	for _, entry := range entries {
		name := path.Join(folder, entry.Name())
		if entry.Type()&fs.ModeSymlink != 0 && errors.Is(s.bounds.check(name), kustomize.ErrOutside) {
			// Only a reference to the link is an error.
			continue
		}
		info, err := s.stat(name)
		if err != nil {
			return nil, err
		}
		switch {
		case info.Mode().IsRegular():
			found = append(found, name)
		case !info.IsDir():
			return nil, fmt.Errorf("%s is not a regular file", s.displayed(name))
		case slices.ContainsFunc(parents, func(parent fs.FileInfo) bool { return os.SameFile(parent, info) }):
			return nil, fmt.Errorf("%s is a symbolic link to a folder that contains it", s.displayed(name))
		default:
			below, err := s.listBelow(name, append(slices.Clip(parents), info))
			if err != nil {
				return nil, err
			}
			found = append(found, below...)
		}
	}
	slices.Sort(found)
	return found, nil
}

// contains reports whether a path is the folder or lies below it.
func contains(folder, name string) bool {
	return name == folder || folder == "/" || strings.HasPrefix(name, folder+"/")
}

// between returns the relative path from a folder to a file or folder. Both arguments are absolute.
func between(folder, name string) string {
	up := ""
	for !contains(folder, name) {
		folder = path.Dir(folder)
		up += "../"
	}
	return path.Clean(up + strings.TrimPrefix(strings.TrimPrefix(name, folder), "/"))
}

// kustomization is a folder whose templates are rendered before Kustomize gets the files.
type kustomization struct {
	// folder is a path of the source.
	folder string
	config config
	// readable contains the files that templates can read, by the paths that they use.
	readable map[string][]byte
	// outputs are the files for Kustomize, by their paths relative to the folder.
	outputs map[string]output
	// templates is nil if there are none.
	templates *templating.Set
}

// output is a file for Kustomize: the result of a template, or the original content.
type output struct {
	template string
	content  []byte
}

// loader reads a kustomization, the included ones, and what these refer to. For Walk, it has the files before they are
// rendered.
type loader struct {
	source *source
	loaded []*kustomization
	// plain contains the files outside of the folders of loaded, by path. They are not templates.
	plain map[string][]byte
}

// load reads the kustomization in the folder.
func (l *loader) load(folder string, options Options) error {
	for _, other := range l.loaded {
		if contains(other.folder, folder) || contains(folder, other.folder) {
			return fmt.Errorf("kustomization %s overlaps with kustomization %s, by which it is included", l.source.displayed(folder), l.source.displayed(other.folder))
		}
	}
	l.source.bounds.add(folder)
	k := &kustomization{folder: folder, readable: map[string][]byte{}, outputs: map[string]output{}}
	if err := k.read(l.source, options); err != nil {
		return fmt.Errorf("reading kustomization %s: %w", l.source.displayed(folder), err)
	}
	l.loaded = append(l.loaded, k)

	// They inherit the options for reading files, but not the suffix and delimiters of templates.
	inherited := Options{Decryptor: options.Decryptor, DisableTemplating: options.DisableTemplating, RootOnly: options.RootOnly}
	for _, name := range k.config.IncludedKustomizations {
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

// readFile reads a file of the kustomization. If it is a template, it is returned; otherwise, it becomes an output.
func (k *kustomization) readFile(source *source, file string, rules gitignore.Matcher) (*templating.File, error) {
	name := k.relative(file)
	content, err := source.read(file)
	if err != nil {
		return nil, err
	}
	k.readable[name] = content
	switch base := path.Base(name); {
	case base == configFile || base == ignoreFile || isIgnored(name, rules):
		return nil, nil
	case *k.config.Templating && strings.HasSuffix(name, *k.config.TemplateSuffix):
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
		if err := k.addOutput(strings.TrimSuffix(template.Name, *k.config.TemplateSuffix), output{template: template.Name}); err != nil {
			return err
		}
	}
	if len(templates) == 0 {
		return nil
	}
	set, err := templating.Parse(templates, templating.Options{
		LeftDelimiter: *k.config.LeftTemplateDelimiter, RightDelimiter: *k.config.RightTemplateDelimiter, Functions: (&occasion{}).functions(),
	})
	k.templates = set
	return err
}

func (k *kustomization) addOutput(name string, file output) error {
	if _, ok := k.outputs[name]; ok || name == "" || strings.HasSuffix(name, "/") {
		return fmt.Errorf("%s, without suffix %s, has no name or that of another file", file.template, *k.config.TemplateSuffix)
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

// readIncluded reads the files outside of the folder that templates can read.
func (k *kustomization) readIncluded(source *source) error {
	for _, name := range k.config.IncludedFiles {
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

// followReferences reads the files outside of their folders that the kustomizations refer to, such as bases, components
// and patches. In kustomization files that are templates, it follows all references without expressions, even below a
// condition that may be false. It fails if one of the files must not be read.
func (l *loader) followReferences() error {
	for _, k := range l.loaded {
		if err := kustomize.Walk(l, k.folder, l.visit); err != nil {
			return err
		}
	}
	return nil
}

// Exists implements kustomize.Files.
func (l *loader) Exists(name string) bool {
	if k := l.kustomization(name); k != nil {
		_, ok := k.outputs[k.relative(name)]
		return ok || l.IsDir(name)
	}
	_, err := l.source.stat(name)
	return err == nil
}

// IsDir implements kustomize.Files.
func (l *loader) IsDir(name string) bool {
	info, err := l.source.stat(name)
	return err == nil && info.IsDir()
}

// ReadFile implements kustomize.Files.
func (l *loader) ReadFile(name string) ([]byte, error) {
	k := l.kustomization(name)
	if k == nil {
		if kustomize.IsKustomization(path.Base(name)) {
			// Each base may read from its own folder.
			l.source.bounds.add(path.Dir(name))
		}
		content, err := l.source.read(name)
		if err == nil {
			l.plain[name] = content
		}
		return content, err
	}
	file := k.outputs[k.relative(name)]
	if file.template == "" {
		return file.content, nil
	}
	return withoutExpressions(k.readable[file.template], k.config.expression()), nil
}

// visit reads the file of a reference if it is outside of the loaded kustomizations.
func (l *loader) visit(reference kustomize.Reference) error {
	if k := l.kustomization(reference.Path); k != nil {
		// A symbolic link that leads elsewhere is not one of its files.
		if err := l.source.bounds.check(reference.Path); errors.Is(err, kustomize.ErrOutside) {
			return err
		}
		return nil
	}
	if !l.Exists(reference.Path) || l.IsDir(reference.Path) {
		return nil
	}
	_, err := l.ReadFile(reference.Path)
	return err
}

// kustomization returns the kustomization of a file; nil if there is none.
func (l *loader) kustomization(name string) *kustomization {
	for _, k := range l.loaded {
		if contains(k.folder, name) {
			return k
		}
	}
	return nil
}

// expression returns an expression that matches a template expression with its delimiters.
func (c config) expression() *regexp.Regexp {
	left, right := cmp.Or(*c.LeftTemplateDelimiter, "{{"), cmp.Or(*c.RightTemplateDelimiter, "}}")
	return regexp.MustCompile(`(?s)` + regexp.QuoteMeta(left) + `.*?` + regexp.QuoteMeta(right))
}

// placeholder replaces expressions. No file name contains it.
const placeholder = "\uFFFD"

// withoutExpressions makes most templates readable as YAML: it drops lines with nothing but expressions, which are
// conditions and loops.
func withoutExpressions(text []byte, expression *regexp.Regexp) []byte {
	marked := expression.ReplaceAllString(string(text), placeholder)
	var lines []string
	for line := range strings.Lines(marked) {
		if rest := strings.ReplaceAll(line, placeholder, ""); rest == line || strings.TrimSpace(rest) != "" {
			lines = append(lines, line)
		}
	}
	return []byte(strings.Join(lines, ""))
}
