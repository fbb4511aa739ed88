// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"go/format"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/template"
)

//go:embed kind.go.tmpl
var fileTemplate string

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run writes all files below the folder of package resources.
func run(args []string) error {
	if len(args) != 1 {
		return errors.New("one argument is required: the folder of package resources")
	}
	for _, k := range kinds {
		content, err := k.write()
		if err != nil {
			return fmt.Errorf("package %s: %w", k.Package, err)
		}
		folder := filepath.Join(args[0], k.Package)
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(folder, "zz_generated.kind.go"), content, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// write returns the file of a kind.
func (k kind) write() ([]byte, error) {
	parsed, err := template.New("kind").Parse(fileTemplate)
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	if err := parsed.Execute(&text, k); err != nil {
		return nil, err
	}
	return format.Source(text.Bytes())
}

// StatusType returns the Go type of the status.
func (k kind) StatusType() string { return "concepts." + k.Status + "StatusWithReason" }

// Interface returns the interface that the status implies.
func (k kind) Interface() string { return strings.Replace(k.Status, "Completion", "Completable", 1) }

// ImportLines returns the import declarations of what the file needs.
func (k kind) ImportLines() string {
	types := k.Go
	ours := []string{"concepts", "feature", "generic"}
	for _, c := range k.Categories {
		types += " " + c.Editor
	}
	if strings.Contains(types, "editors.") {
		ours = append(ours, "editors")
	}
	if k.RoleRef {
		ours = append(ours, "internal/handlers")
	}
	slices.Sort(ours)
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(imports)) {
		if strings.Contains(types, name+".") {
			lines = append(lines, fmt.Sprintf("%s %q", name, imports[name]))
		}
	}
	lines = append(lines, "")
	for _, name := range ours {
		lines = append(lines, fmt.Sprintf("%q", "github.com/component-operator/runtime/pkg/resources/"+name))
	}
	return strings.Join(lines, "\n")
}

// Version returns the name of the package with the Go type.
func (k kind) Version() string { return strings.Split(k.Go, ".")[0] }

// Article returns the kind with an article.
func (k kind) Article() string {
	if strings.ContainsAny(k.Kind[:1], "AEIOU") {
		return "an " + k.Kind
	}
	return "a " + k.Kind
}

// CategoryList lists the categories for the documentation.
func (k kind) CategoryList() []string {
	var names []string
	for _, c := range k.Categories {
		if c.Embedded != "" {
			names = append(names, strings.Split(c.Titles, ", ")...)
		} else {
			names = append(names, c.Title)
		}
	}
	return names
}

// SpecEditor returns the editor of the category that has the number of replicas.
func (k kind) SpecEditor() string {
	i := slices.IndexFunc(k.Categories, func(c category) bool { return c.Method == k.Replicas })
	return k.Categories[i].Editor
}

// Judged reports whether the package knows the status better than the reconciler.
func (k kind) Judged() bool { return k.Handlers != applied }

// IsWorkload reports whether a function workload of the package has the numbers for the status.
func (k kind) IsWorkload() bool { return k.Handlers == workload }

// ScalesToZero reports whether objects are suspended by having no replicas.
func (k kind) ScalesToZero() bool { return k.Suspend == toZero }

// IsDeleted reports whether objects are suspended by deletion.
func (k kind) IsDeleted() bool { return k.Suspend == deletion }

// SuspendsItself reports whether objects have a suspended form.
func (k kind) SuspendsItself() bool { return k.Suspend == toZero || k.Suspend == bySpec }
