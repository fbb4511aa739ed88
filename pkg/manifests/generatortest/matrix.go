// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package generatortest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/component-operator/runtime/pkg/resources"
)

// Matrix tests a function that returns typed resources (see package resources): for each version, and each case of the version, it compares the objects with golden files. Cases
// with the same objects share one file. The file index.yaml says which they are, so that a change of a gate shows in its diff.
//
// Objects are as the reconciler applies them while the component is not suspended: with all mutations that are on, and with the annotations of their policies. The place in the
// default order of deletion is left out, because it changes with each resource that is added in front. Guards are not asked. There is no object of a resource that is read-only, or
// whose gate is off.
//
// Data are extracted from the Objects of a case, as they would be from a cluster. An object there needs only its name, its namespace, and what the cluster adds, such as a status;
// what else it lacks is taken from the resource, unless that is read-only. A resource whose data guard would hold it back is an error.
//
// Beyond the rules for all cases that the package documentation states, it is an error if
//
//   - resources do not fit together, for instance because a resource uses data that no earlier one extracts;
//   - two mutations give one field different values;
//   - the selector of an edit matches no container, unless it accepts any, as AllContainers does;
//   - mutations of one resource have the same name;
//   - a mutation is not on in any combination of a version and a case, because nothing would notice when it breaks. See Excluded.
//
// Hand-written resources have mutations to check if they are [concepts.Inspectable].
type Matrix struct {
	// Generate is the function under test, which the operator passes to resources.NewGenerator. It is required.
	Generate resources.Generate
	// ReconcilerName is the name that the operator passes to NewReconciler, the prefix of its annotations. It is required.
	ReconcilerName string
	// Versions are the versions that are tested, usually one on each side of every constraint. The first combination of a version and a case that leads to an outcome names its golden
	// file, so append new ones. At least one is required.
	Versions []string
	// Cases returns the cases of a version, at least one. They should have the same namespace and component name, because mutations are told apart by the identities of
	// their resources. It is required.
	Cases func(version string) []Case

	// Folder holds the golden files, and belongs to the matrix: a golden file without an outcome is an error, and -generatortest.update removes it. Defaults to "testdata/matrix".
	Folder string
	// Excluded are mutations that need not be on in any combination. They must exist, and be off in all of them. Defaults to none.
	Excluded []Exclusion
	// OwnAnnotations are the suffixes of the operator's own annotations, as in Suite. Defaults to none.
	OwnAnnotations []string
	// AddToScheme adds the Go types of objects, and of Objects of cases, that are neither from Kubernetes nor custom resource definitions. Defaults to none.
	AddToScheme func(scheme *runtime.Scheme) error
}

// Exclusion names a mutation that need not be on in any combination. All fields are required.
type Exclusion struct {
	// Resource is the identity of the resource, such as "apps/v1/Deployment/default/example".
	Resource string
	// Mutation is the name of the mutation.
	Mutation string
	// Reason says why no combination of the matrix has it.
	Reason string
}

// Run generates all combinations and compares them. There are no subtests, since only all of them together say which golden files there are.
func (m Matrix) Run(t *testing.T) {
	t.Helper()
	for _, problem := range m.examine(t.Context(), *update) {
		t.Error(problem)
	}
}

// combination is a case of a version.
type combination struct {
	Case

	version string
}

func (c combination) name() string { return c.version + " " + c.Name }

// fileName names the golden file of a combination, without its extension. Versions with metadata have a character that file names lack.
func (c combination) fileName() string { return strings.ReplaceAll(c.version, "+", "_") + "-" + c.Name }

// label names the combination in messages.
func (c combination) label() string {
	if c.Reason != "" {
		return fmt.Sprintf("%s (%s)", c.name(), c.Reason)
	}
	return c.name()
}

// examine returns all problems. If a combination has no outcome, the others are not compared either: too many files and mutations would seem to be missing.
func (m Matrix) examine(ctx context.Context, update bool) []string {
	combinations, err := m.complete()
	if err != nil {
		return []string{err.Error()}
	}
	results := make([]result, len(combinations))
	failed := false
	for i, c := range combinations {
		results[i] = m.try(ctx, c)
		failed = failed || results[i].failed
	}
	problems := collect(results)
	if failed {
		return problems
	}
	results = slices.DeleteFunc(results, func(r result) bool { return r.Err != "" })
	problems = append(problems, checkMutations(results, m.Excluded)...)
	return append(problems, m.compare(results, update)...)
}

// collect returns the problems of all combinations, each once, with the combinations that have it.
func collect(results []result) []string {
	var texts []string
	labels := map[string][]string{}
	for _, r := range results {
		for _, problem := range r.problems {
			if labels[problem] == nil {
				texts = append(texts, problem)
			}
			if !slices.Contains(labels[problem], r.label()) {
				labels[problem] = append(labels[problem], r.label())
			}
		}
	}
	problems := make([]string, len(texts))
	for i, text := range texts {
		problems[i] = strings.Join(labels[text], ", ") + ": " + text
	}
	return problems
}

// complete fills in the defaults of the matrix, and returns all combinations, by version.
func (m *Matrix) complete() ([]combination, error) {
	if missing := m.missing(); len(missing) > 0 {
		return nil, fmt.Errorf("the matrix lacks %s", strings.Join(missing, ", "))
	}
	if m.Folder == "" {
		m.Folder = "testdata/matrix"
	}
	for i, e := range m.Excluded {
		if e.Resource == "" || e.Mutation == "" || e.Reason == "" {
			return nil, fmt.Errorf("exclusion %d needs Resource, Mutation and Reason, got %q, %q and %q", i+1, e.Resource, e.Mutation, e.Reason)
		}
	}
	var combinations []combination
	for _, version := range m.Versions {
		cases, err := m.casesOf(version)
		if err != nil {
			return nil, fmt.Errorf("version %q: %w", version, err)
		}
		combinations = append(combinations, cases...)
	}
	named := map[string]combination{}
	for _, c := range combinations {
		if other, taken := named[c.fileName()]; taken {
			return nil, fmt.Errorf("combinations %q and %q have the same file name %s", other.name(), c.name(), c.fileName())
		}
		named[c.fileName()] = c
	}
	return combinations, nil
}

// missing returns the names of required fields that are not set.
func (m *Matrix) missing() []string {
	var names []string
	for _, field := range []struct {
		name  string
		isSet bool
	}{
		{"Generate", m.Generate != nil}, {"ReconcilerName", m.ReconcilerName != ""}, {"Versions", len(m.Versions) > 0}, {"Cases", m.Cases != nil},
	} {
		if !field.isSet {
			names = append(names, field.name)
		}
	}
	return names
}

// casesOf returns the combinations of a version.
func (m Matrix) casesOf(version string) ([]combination, error) {
	cases := m.Cases(version)
	if len(cases) == 0 {
		return nil, errors.New("there are no cases")
	}
	suite := m.suite(&previewer{})
	if err := suite.complete(cases); err != nil {
		return nil, err
	}
	combinations := make([]combination, len(cases))
	for i, c := range cases {
		combinations[i] = combination{Case: c.withDefaults(), version: version}
		if !fileName.MatchString(combinations[i].fileName()) {
			return nil, errors.New("invalid version; must consist of letters, digits, dots, dashes, underscores and plus signs")
		}
	}
	return combinations, nil
}

// suite returns the suite of one combination.
func (m Matrix) suite(preview *previewer) Suite {
	return Suite{Generator: preview, ReconcilerName: m.ReconcilerName, Folder: m.Folder, OwnAnnotations: m.OwnAnnotations}
}
