// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package templating

import (
	"fmt"
	"maps"
	"text/template"
)

// File is a text with templates.
type File struct {
	// Name identifies the file within its Set, and in errors.
	Name string
	Text string
}

// Options say how templates are parsed. The zero value stands for the defaults.
type Options struct {
	// LeftDelimiter defaults to "{{".
	LeftDelimiter string
	// RightDelimiter defaults to "}}".
	RightDelimiter string
	// Library has the functions that are available in addition to include and tpl. Defaults to the common ones.
	Library template.FuncMap
	// Functions are available in addition to the library, and win over it. Parsing only needs their names; a rendering
	// may bind others of the same names.
	Functions map[string]any
	// KeepNoValue makes nil render as "<no value>", which is removed from the output of a file, and of tpl, when it is
	// complete. Templates see it in the result of include. Helm does so.
	KeepNoValue bool
}

// Set is a group of files that share their definitions. It is immutable and safe for concurrent use.
type Set struct {
	root        *template.Template
	keepNoValue bool
}

// Parse returns the Set of the given files. Of several definitions of the same name, the last one counts. An error
// names file and line.
func Parse(files []File, options Options) (*Set, error) {
	library := options.Library
	if library == nil {
		library = commonFunctions
	}
	root := template.New("").Option("missingkey=zero").Delims(options.LeftDelimiter, options.RightDelimiter)
	root.Funcs(library).Funcs((&Renderer{}).functions()).Funcs(options.Functions)
	for _, file := range files {
		if _, err := root.New(file.Name).Parse(file.Text); err != nil {
			return nil, located(err)
		}
	}
	return &Set{root: root, keepNoValue: options.KeepNoValue}, nil
}

// Renderer returns a Renderer with the functions of the options and the given ones, which win.
func (s *Set) Renderer(functions map[string]any) (*Renderer, error) {
	clone, err := s.root.Clone()
	if err != nil {
		return nil, fmt.Errorf("copying templates: %w", err)
	}
	renderer := &Renderer{root: clone, limits: &limits{keepNoValue: s.keepNoValue}}
	clone.Funcs(renderer.functions()).Funcs(maps.Clone(functions))
	return renderer, nil
}
