// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"path"
	"strings"

	"sigs.k8s.io/yaml"
)

// mutant is a change that breaks the code.
type mutant struct {
	// Name is unique in the list. Required.
	Name string `json:"name"`
	// File is the path of the file to be changed, below the root of the module. Required.
	File string `json:"file"`
	// Old is the text to be replaced, which must occur exactly once. Required.
	Old string `json:"old"`
	// New replaces Old. Defaults to nothing.
	New string `json:"new,omitempty"`
	// Package is tested. Defaults to the one of the file.
	Package string `json:"package,omitempty"`
	// Run selects the tests that are to fail, as the flag -run of "go test" does. Required.
	Run string `json:"run"`
	// Why explains why no test notices the change. Such a mutant still counts as not noticed. Defaults to nothing.
	Why string `json:"why,omitempty"`
}

// target is what "go test" is given as the package.
func (m mutant) target() string {
	if m.Package != "" {
		return "./" + m.Package
	}
	return "./" + path.Dir(m.File)
}

// read reads a list. Unknown fields, missing ones and names that occur twice are errors.
func read(file string) ([]mutant, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("reading the list: %w", err)
	}
	var all []mutant
	if err := yaml.UnmarshalStrict(raw, &all); err != nil {
		return nil, fmt.Errorf("reading the list %s: %w", file, err)
	}
	seen := map[string]bool{}
	var problems []error
	for i, m := range all {
		if m.Name == "" || m.File == "" || m.Old == "" || m.Run == "" {
			problems = append(problems, fmt.Errorf("entry %d (%q): name, file, old and run are required", i+1, m.Name))
		}
		if seen[m.Name] {
			problems = append(problems, fmt.Errorf("entry %d: there is another one named %q", i+1, m.Name))
		}
		if m.Old == m.New {
			problems = append(problems, fmt.Errorf("entry %d (%q): old and new are the same", i+1, m.Name))
		}
		seen[m.Name] = true
	}
	return all, errors.Join(problems...)
}

// apply returns the content of the file with the change.
func (m mutant) apply() ([]byte, error) {
	raw, err := os.ReadFile(m.File)
	if err != nil {
		return nil, fmt.Errorf("reading the file: %w", err)
	}
	content := string(raw)
	if n := strings.Count(content, m.Old); n != 1 {
		return nil, fmt.Errorf("%s contains the text %d times; must contain it exactly once", m.File, n)
	}
	return []byte(strings.Replace(content, m.Old, m.New, 1)), nil
}
