// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package kustomize

import (
	"errors"
	"path"
	"regexp"
	"strings"

	"github.com/component-operator/runtime/internal/kustomize"
)

// followReferences reads the files to which the kustomizations refer outside of their folders: bases, components,
// patches and the like. It returns these files by their paths; they are not templates. In kustomization files that are
// templates, it follows all references without expressions, even below a condition that may be false. It fails if one
// of the files must not be read.
func (l *loader) followReferences() (map[string][]byte, error) {
	f := &follower{loader: l, found: map[string][]byte{}}
	for _, k := range l.loaded {
		f.expressions = append(f.expressions, k.config.expression())
	}
	for _, folder := range l.folders {
		if err := kustomize.Walk(f, folder, f.visit); err != nil {
			return nil, err
		}
	}
	return f.found, nil
}

// follower gives Walk the files before they are rendered.
type follower struct {
	loader *loader
	// expressions are those of the loaded kustomizations.
	expressions []*regexp.Regexp
	found       map[string][]byte
}

// Exists implements kustomize.Files.
func (f *follower) Exists(name string) bool {
	if k, _ := f.kustomization(name); k != nil {
		_, ok := k.outputs[k.relative(name)]
		return ok || f.IsDir(name)
	}
	_, err := f.loader.source.stat(name)
	return err == nil
}

// IsDir implements kustomize.Files.
func (f *follower) IsDir(name string) bool {
	info, err := f.loader.source.stat(name)
	return err == nil && info.IsDir()
}

// ReadFile implements kustomize.Files.
func (f *follower) ReadFile(name string) ([]byte, error) {
	k, expression := f.kustomization(name)
	if k == nil {
		if kustomize.IsKustomization(path.Base(name)) {
			// Each base may read in its own folder.
			f.loader.source.bounds.add(path.Dir(name))
		}
		content, err := f.loader.source.read(name)
		if err == nil {
			f.found[name] = content
		}
		return content, err
	}
	file := k.outputs[k.relative(name)]
	if file.template == "" {
		return file.content, nil
	}
	return withoutExpressions(k.readable[file.template], expression), nil
}

// visit reads the file of a reference if it is outside of the loaded kustomizations.
func (f *follower) visit(reference kustomize.Reference) error {
	if k, _ := f.kustomization(reference.Path); k != nil {
		// A symbolic link that leads elsewhere is not among its files.
		if err := f.loader.source.bounds.check(reference.Path); errors.Is(err, kustomize.ErrOutside) {
			return err
		}
		return nil
	}
	if !f.Exists(reference.Path) || f.IsDir(reference.Path) {
		return nil
	}
	_, err := f.ReadFile(reference.Path)
	return err
}

// kustomization returns the kustomization of a file, and the delimiters of its templates.
func (f *follower) kustomization(name string) (*kustomization, *regexp.Regexp) {
	for i, k := range f.loader.loaded {
		if contains(k.folder, name) {
			return k, f.expressions[i]
		}
	}
	return nil, nil
}

// expression matches an expression with its delimiters.
func (c config) expression() *regexp.Regexp {
	left, right := c.left, c.right
	if left == "" {
		left = "{{"
	}
	if right == "" {
		right = "}}"
	}
	return regexp.MustCompile(`(?s)` + regexp.QuoteMeta(left) + `.*?` + regexp.QuoteMeta(right))
}

// placeholder stands for the value of an expression. No file has that name.
const placeholder = "\uFFFD"

// withoutExpressions usually makes a template readable as YAML: lines with nothing but expressions are
// conditions and loops, which it drops.
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
