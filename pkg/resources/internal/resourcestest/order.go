// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package resourcestest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/component-operator/runtime/pkg/resources/editors"
	"github.com/component-operator/runtime/pkg/resources/generic"
	"github.com/component-operator/runtime/pkg/resources/selectors"
)

// Stage is a category of edits.
type Stage struct {
	category string
	// record records an edit, which calls the function when it is made.
	record func(made func())
	// happened reports whether the edit was made; nil if it calls the function.
	happened func() bool
}

// Recorded is a category whose edits are functions. The method records one.
func Recorded[E any](category string, record func(func(E) error)) []Stage {
	return []Stage{{category: category, record: func(made func()) {
		record(func(E) error {
			made()
			return nil
		})
	}}}
}

// Metadata is the category of metadata.
func Metadata(mutator interface {
	EditObjectMetadata(edit func(*editors.ObjectMetaEditor) error)
},
) []Stage {
	return Recorded("object metadata", mutator.EditObjectMetadata)
}

// PodTemplate are the categories of a pod template that has no containers yet.
func PodTemplate(mutator *generic.PodTemplate, template *corev1.PodTemplateSpec) []Stage {
	return slices.Concat(Recorded("pod template metadata", mutator.EditPodTemplateMetadata), PodSpec(&mutator.PodSpec, &template.Spec))
}

// PodSpec are the categories of a pod spec that has no containers yet.
func PodSpec(mutator *generic.PodSpec, spec *corev1.PodSpec) []Stage {
	all := selectors.AllContainers()
	return slices.Concat(
		Recorded("pod spec", mutator.EditPodSpec),
		presence("presence of containers", mutator.EnsureContainer, &spec.Containers),
		Recorded("edits of containers", func(edit func(*editors.ContainerEditor) error) { mutator.EditContainers(all, edit) }),
		presence("presence of init containers", mutator.EnsureInitContainer, &spec.InitContainers),
		Recorded("edits of init containers", func(edit func(*editors.ContainerEditor) error) { mutator.EditInitContainers(all, edit) }),
	)
}

// presence is a category whose edits are known by their effect on a list that is empty before. The method records one.
func presence(category string, ensure func(corev1.Container), list *[]corev1.Container) []Stage {
	return []Stage{{
		category: category,
		record:   func(func()) { ensure(corev1.Container{Name: "added"}) },
		happened: func() bool { return len(*list) > 0 },
	}}
}

// CheckOrder checks that edits of a feature are made in the order of the categories which the documentation of the Mutator lists. It records one for each category, in the reverse
// order. The package that is tested is the one in the working directory.
func CheckOrder(t *testing.T, mutator generic.Mutator, categories ...[]Stage) {
	t.Helper()
	stages := slices.Concat(categories...)
	var made []string
	note := func(category ...string) {
		for _, stage := range stages {
			if stage.happened != nil && stage.happened() && !slices.Contains(made, stage.category) {
				made = append(made, stage.category)
			}
		}
		made = append(made, category...)
	}
	for _, stage := range slices.Backward(stages) {
		stage.record(func() { note(stage.category) })
	}
	note()
	if len(made) > 0 {
		t.Errorf("made before Apply: %q", made)
	}
	if err := mutator.Apply(); err != nil {
		t.Fatal(err)
	}
	note()
	if diff := cmp.Diff(documentedCategories(t), made); diff != "" {
		t.Errorf("unexpected order (-documented +got):\n%s", diff)
	}
}

// documentedCategories returns the list in the documentation of the type Mutator.
func documentedCategories(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var categories []string
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(node ast.Node) bool {
			if declaration, ok := node.(*ast.GenDecl); ok && declares(declaration, "Mutator") {
				for line := range strings.Lines(declaration.Doc.Text()) {
					if item, ok := strings.CutPrefix(strings.TrimSpace(line), "- "); ok {
						categories = append(categories, item)
					}
				}
			}
			return true
		})
	}
	return categories
}

// declares reports whether a declaration has nothing but the type of that name.
func declares(declaration *ast.GenDecl, name string) bool {
	if len(declaration.Specs) != 1 {
		return false
	}
	spec, ok := declaration.Specs[0].(*ast.TypeSpec)
	return ok && spec.Name.Name == name
}
