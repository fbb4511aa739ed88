// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package generatortest

import (
	"flag"
	"fmt"
	"regexp"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/manifests"
	"github.com/component-operator/runtime/pkg/types"
)

var update = flag.Bool("generatortest.update", false, "write the golden files of generators instead of comparing with them")

// Suite has the settings that all cases of a generator share.
type Suite struct {
	// Generator is the generator under test. It is required.
	Generator manifests.Generator
	// ReconcilerName is the name that the operator passes to NewReconciler, the prefix of its annotations. It is
	// required.
	ReconcilerName string
	// Folder holds the golden files, and belongs to the suite: a golden file without a case is an error, and
	// -generatortest.update removes it. Defaults to "testdata/golden".
	Folder string
}

// Case is one call of the generator.
type Case struct {
	// Name names the case and its golden file. It is required, and consists of letters, digits, dots, dashes and
	// underscores.
	Name string
	// Reason says what the case tests; it is part of the messages. Defaults to nothing.
	Reason string

	// Namespace is the namespace of the component's objects. Defaults to "default".
	Namespace string
	// ComponentName is the name of the component. Defaults to "example".
	ComponentName string
	// Parameters are the spec of the component. Defaults to an empty map.
	Parameters types.Unstructurable
	// References are the Secrets and ConfigMaps that the spec refers to; those without a namespace are in that of the
	// case. They are loaded into the spec as in operation; if one is missing, the case has the error for which the
	// component would wait. Defaults to none.
	References []client.Object
	// Revision is the revision of the component. Defaults to 1.
	Revision int64
	// Installed means that the component was completely installed in an earlier revision. Defaults to false.
	Installed bool

	// KubernetesVersion is the version of the cluster. Defaults to "v1.36.0".
	KubernetesVersion string
	// APIVersions are the API versions of the cluster in addition to the stable versions of Kubernetes, as
	// "group/version" or "group/version/Kind"; the kinds are namespaced. Defaults to nothing.
	APIVersions []string
	// Objects are the objects of the cluster, which the clients in the context read. Defaults to nothing.
	Objects []client.Object
	// Component is the component that generators get from the context; see generator.ComponentFromContext. Defaults to
	// none.
	Component client.Object

	// Random means that values may differ from one call to the next, such as passwords that templates make. Golden
	// files have "(random)" in their place. Defaults to false: a value that differs is an error.
	Random bool

	// Err is a part of the expected error; such a case has no golden file. Defaults to success.
	Err string
}

// Run runs each case as a subtest with the name of the case.
func Run(t *testing.T, suite Suite, cases ...Case) {
	t.Helper()
	if err := suite.complete(cases); err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			for _, problem := range suite.examine(t.Context(), c.withDefaults(), *update) {
				if c.Reason != "" {
					problem = c.Reason + ": " + problem
				}
				t.Error(problem)
			}
		})
	}
	for _, problem := range suite.strays(cases, *update) {
		t.Error(problem)
	}
}

var fileName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]*$`)

// complete fills in the defaults of the suite.
func (s *Suite) complete(cases []Case) error {
	if s.Generator == nil || s.ReconcilerName == "" {
		return fmt.Errorf("the suite needs Generator and ReconcilerName, got %T and %q", s.Generator, s.ReconcilerName)
	}
	if s.Folder == "" {
		s.Folder = "testdata/golden"
	}
	seen := map[string]bool{}
	for i, c := range cases {
		if !fileName.MatchString(c.Name) {
			return fmt.Errorf("case %d: invalid name %q; must consist of letters, digits, dots, dashes and underscores", i+1, c.Name)
		}
		if seen[c.Name] {
			return fmt.Errorf("case %d: there is another case with the name %q", i+1, c.Name)
		}
		seen[c.Name] = true
	}
	return nil
}

func (c Case) withDefaults() Case {
	if c.Namespace == "" {
		c.Namespace = "default"
	}
	if c.ComponentName == "" {
		c.ComponentName = "example"
	}
	if c.Parameters == nil {
		c.Parameters = types.UnstructurableMap{}
	}
	if c.Revision == 0 {
		c.Revision = 1
	}
	return c
}
