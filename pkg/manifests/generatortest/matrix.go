// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package generatortest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/component-operator/runtime/pkg/resources"
)

// Matrix tests a function that returns typed resources (see package resources): for each version, and each case of the
// version, it compares the objects with a golden file, such as 1.4.2-plain.yaml.
//
// Objects are as the reconciler applies them while the component is not suspended: with all mutations that are on, and
// with the annotations of their policies. The place in the default order of deletion is left out, because it changes
// with each resource that is added in front. Guards are not asked. There is no object of a resource that is read-only,
// or whose gate is off.
//
// Data are extracted from the Objects of a case, as they would be from a cluster. If an object is not among them, data
// are extracted from the declared object. A resource whose data guard would hold it back is an error.
//
// Beyond the rules for all cases that the package documentation states, it is an error if
//
//   - resources do not fit together, for instance because a resource uses data that no earlier one extracts;
//   - two mutations give one field different values, apart from entries of ConfigMaps and Secrets;
//   - the selector of an edit matches no container, unless it accepts any, as AllContainers does;
//   - mutations of one resource have the same name;
//   - a mutation is not on in any combination of a version and a case, because nothing would notice when it breaks.
//
// Hand-written resources have mutations to check if they are [concepts.Inspectable].
type Matrix struct {
	// Generate is the function under test, which the operator passes to resources.NewGenerator. It is required.
	Generate resources.Generate
	// ReconcilerName is the name that the operator passes to NewReconciler, the prefix of its annotations. It is
	// required.
	ReconcilerName string
	// Versions are the versions that are tested, usually one on each side of every constraint. At least one is
	// required.
	Versions []string
	// Cases returns the cases of a version. They should have the same namespace and component name, because mutations
	// are told apart by the identities of their resources. It is required.
	Cases func(version string) []Case

	folder string // of the golden files, in tests; otherwise testdata/matrix
}

// Run generates all combinations and compares them. There are no subtests, since only all of them together say which
// mutations are never on.
func (m Matrix) Run(t *testing.T) {
	t.Helper()
	for _, problem := range m.examine(t.Context(), *update) {
		t.Error(problem)
	}
}

// examine returns all problems. If a combination fails, mutations that are never on are not reported.
func (m Matrix) examine(ctx context.Context, update bool) []string {
	preview := &previewer{matrix: m, off: map[string][]string{}, on: map[string]bool{}}
	suite := Suite{Generator: preview, ReconcilerName: m.ReconcilerName, Folder: cmp.Or(m.folder, "testdata/matrix")}
	cases, err := m.combinations()
	if err == nil {
		err = suite.complete(cases)
	}
	if err != nil {
		return []string{err.Error()}
	}
	var problems []string
	for _, c := range cases {
		for _, problem := range suite.examine(ctx, c.withDefaults(), update) {
			problems = append(problems, c.Name+": "+problem)
		}
	}
	if len(problems) == 0 {
		problems = preview.neverOn()
	}
	return append(problems, suite.strays(cases, update)...)
}

// combinations returns the cases of all versions, whose names begin with the version. Versions with metadata have a
// character that file names lack.
func (m *Matrix) combinations() ([]Case, error) {
	if m.Generate == nil || m.ReconcilerName == "" || len(m.Versions) == 0 || m.Cases == nil {
		return nil, errors.New("the matrix needs Generate, ReconcilerName, Versions and Cases")
	}
	var combinations []Case
	for _, version := range m.Versions {
		cases := m.Cases(version)
		if len(cases) == 0 {
			return nil, fmt.Errorf("version %q: there are no cases", version)
		}
		for _, c := range cases {
			c.Name = strings.ReplaceAll(version, "+", "_") + "-" + c.Name
			combinations = append(combinations, c)
		}
	}
	return combinations, nil
}
