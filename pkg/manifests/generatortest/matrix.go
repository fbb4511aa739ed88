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
//   - a mutation is not on in any combination of a version and a case, because nothing would notice when it breaks.
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
	// OwnAnnotations are the suffixes of the operator's own annotations, as in Suite. Defaults to none.
	OwnAnnotations []string
	// AddToScheme adds the Go types of objects, and of Objects of cases, that are neither from Kubernetes nor custom resource definitions. Defaults to none.
	AddToScheme func(scheme *runtime.Scheme) error
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
	problems = append(problems, checkMutations(results)...)
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
	if m.Generate == nil || m.ReconcilerName == "" || len(m.Versions) == 0 || m.Cases == nil {
		return nil, errors.New("the matrix needs Generate, ReconcilerName, Versions and Cases")
	}
	if m.Folder == "" {
		m.Folder = "testdata/matrix"
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

// result is what a combination leads to.
type result struct {
	combination
	attempt

	mutations []mutation
}

// try generates a combination.
func (m Matrix) try(ctx context.Context, c combination) result {
	preview := &previewer{matrix: m, objects: c.Objects}
	suite := m.suite(preview)
	scheme, err := suite.scheme()
	if err != nil {
		return result{combination: c, attempt: failure(err.Error())}
	}
	preview.scheme = scheme
	r := result{combination: c, attempt: suite.try(ctx, c.Case, scheme), mutations: preview.mutations}
	r.problems = append(preview.problems, r.problems...)
	return r
}

// mutationName identifies a mutation.
type mutationName struct{ resource, name string }

func (n mutationName) String() string { return fmt.Sprintf("%s: mutation %q", n.resource, n.name) }

// mutation is a mutation in one combination.
type mutation struct {
	mutationName

	enabled bool
	why     string
}

// checkMutations returns which mutations are on in no combination.
func checkMutations(results []result) []string {
	var problems []string
	for _, name := range mutationNames(results) {
		if on, off := states(results, name); !on {
			problems = append(problems, fmt.Sprintf("%s is not on in any combination; add a case:\n  %s", name, strings.Join(off, "\n  ")))
		}
	}
	return problems
}

// mutationNames returns all mutations, in the order in which they are found first.
func mutationNames(results []result) []mutationName {
	var names []mutationName
	for _, r := range results {
		for _, m := range r.mutations {
			if !slices.Contains(names, m.mutationName) {
				names = append(names, m.mutationName)
			}
		}
	}
	return names
}

// states reports whether a mutation is on in a combination, and why it is off in the others.
func states(results []result, name mutationName) (on bool, off []string) {
	for _, r := range results {
		why := "there is no such mutation"
		for _, m := range r.mutations {
			if m.mutationName == name {
				on, why = on || m.enabled, m.why
			}
		}
		off = append(off, r.name()+": "+why)
	}
	return on, off
}

// indexName is the name of the golden file that says which combinations lead to which outcome. No outcome has it.
const indexName = "index"

// outcome is what several combinations lead to.
type outcome struct {
	name, text   string
	combinations []string
}

// outcomesOf returns the different outcomes, in the order in which they are found first.
func outcomesOf(results []result) []outcome {
	var outcomes []outcome
	for _, r := range results {
		i := slices.IndexFunc(outcomes, func(o outcome) bool { return o.text == r.text })
		if i < 0 {
			i = len(outcomes)
			outcomes = append(outcomes, outcome{name: r.fileName(), text: r.text})
		}
		outcomes[i].combinations = append(outcomes[i].combinations, r.name())
	}
	return outcomes
}

// compare compares the outcomes with the golden files, or writes these.
func (m Matrix) compare(results []result, update bool) []string {
	suite := m.suite(nil)
	var problems []string
	index := strings.Builder{}
	index.WriteString(header)
	known := []string{suite.path(indexName)}
	outcomes := outcomesOf(results)
	for _, o := range outcomes {
		for _, problem := range suite.compare(o.name, o.text, update) {
			problems = append(problems, strings.Join(o.combinations, ", ")+": "+problem)
		}
		fmt.Fprintf(&index, "%s.yaml:\n- %s\n", o.name, strings.Join(o.combinations, "\n- "))
		known = append(known, suite.path(o.name))
	}
	for _, problem := range suite.compare(indexName, index.String(), update) {
		problems = append(problems, "which combinations have the same outcome: "+problem)
	}
	return append(problems, suite.strays(known, "no outcome belongs to it", update)...)
}
