// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package templating

import (
	"errors"
	"fmt"
	"strings"
	"text/template"
)

// tplName is the name of texts given to tpl in errors. No define can have it by accident.
const tplName = "text given to tpl"

// Renderer renders the files of a Set. It serves one rendering, and must not be used concurrently. Its output
// counts against MaxOutput until it is dropped.
type Renderer struct {
	root   *template.Template
	limits *limits
}

// Render returns the output of a file. The templates may change the data. An error names file and line.
func (r *Renderer) Render(name string, data any) (string, error) {
	out, err := r.execute(r.root.Lookup(name), name, data)
	if err != nil {
		return "", located(err)
	}
	return out.complete(), nil
}

// execute renders a template, which is nil if there is none of that name.
func (r *Renderer) execute(found *template.Template, name string, data any) (*output, error) {
	if found == nil {
		return nil, fmt.Errorf("there is no template %q", name)
	}
	out := &output{name: name, limits: r.limits}
	if err := found.Execute(out, data); err != nil {
		out.release()
		return nil, err
	}
	return out, nil
}

func (r *Renderer) functions() template.FuncMap {
	return template.FuncMap{"include": r.include, "tpl": r.tpl}
}

// include renders a template by its name.
func (r *Renderer) include(name string, data any) (string, error) {
	if err := r.limits.enter(name); err != nil {
		return "", err
	}
	defer r.limits.leave()
	out, err := r.embed(r.root.Lookup(name), name, data)
	if err != nil {
		return "", err
	}
	return out.String(), nil
}

// tpl renders a text, which may use all templates, and may define some of its own.
func (r *Renderer) tpl(text string, data any) (string, error) {
	if err := r.limits.enter(tplName); err != nil {
		return "", err
	}
	defer r.limits.leave()
	clone, err := r.root.Clone()
	if err != nil {
		return "", err
	}
	// The functions of the text see its definitions.
	inner := &Renderer{root: clone, limits: r.limits}
	// An empty text would not replace one that it is within, so the template is not found by its name.
	parsed, err := clone.Funcs(inner.functions()).New(tplName).Parse(text)
	if err != nil {
		return "", located(err)
	}
	out, err := inner.embed(parsed, tplName, data)
	if err != nil {
		return "", err
	}
	return out.complete(), nil
}

// embed renders a value for another template; the text no longer counts as output then.
func (r *Renderer) embed(found *template.Template, name string, data any) (*output, error) {
	out, err := r.execute(found, name, data)
	if err != nil {
		// The outermost call says where the limit was exceeded; hundreds of nested calls would add nothing.
		var exceeded *limitError
		if errors.As(err, &exceeded) {
			return nil, exceeded
		}
		return nil, located(err)
	}
	out.release()
	return out, nil
}

// templateError is an error of text/template without the common prefix.
type templateError struct{ err error }

func located(err error) error {
	if err == nil {
		return nil
	}
	if text := err.Error(); !strings.HasPrefix(text, "template: ") {
		return err
	}
	return &templateError{err}
}

func (e *templateError) Error() string { return strings.TrimPrefix(e.err.Error(), "template: ") }

func (e *templateError) Unwrap() error { return e.err }
