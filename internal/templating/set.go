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
	// Functions are available in addition to the common ones, and win over them. Parsing only needs their names; a rendering
	// may bind others of the same names.
	Functions map[string]any
}

// Set is a group of files that share their definitions. It is immutable and safe for concurrent use.
type Set struct {
	root *template.Template
}

// Parse returns the Set of the given files. Of several definitions of the same name, the last one counts. An error names
// file and line.
func Parse(files []File, options Options) (*Set, error) {
	root := template.New("").Option("missingkey=zero").Delims(options.LeftDelimiter, options.RightDelimiter)
	root.Funcs(commonFunctions).Funcs((&Renderer{}).functions()).Funcs(options.Functions)
	for _, file := range files {
		if _, err := root.New(file.Name).Parse(file.Text); err != nil {
			return nil, located(err)
		}
	}
	return &Set{root: root}, nil
}

// Renderer returns a Renderer with the common functions, those of the options, and the given ones, which win.
func (s *Set) Renderer(functions map[string]any) (*Renderer, error) {
	clone, err := s.root.Clone()
	if err != nil {
		return nil, fmt.Errorf("copying templates: %w", err)
	}
	renderer := &Renderer{root: clone, limits: &limits{}}
	clone.Funcs(renderer.functions()).Funcs(maps.Clone(functions))
	return renderer, nil
}
