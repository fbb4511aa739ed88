// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package generatortest

import (
	"context"
	"flag"
	"fmt"
	"regexp"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/manifests"
	"github.com/component-operator/runtime/pkg/types"
)

var update = flag.Bool("generatortest.update", false, "write the golden files of generators instead of comparing with them")

// Suite is what all cases of a generator have in common.
type Suite struct {
	// Generator is what is tested. It is required.
	Generator manifests.Generator
	// ReconcilerName is the name that the operator passes to NewReconciler, the prefix of its annotations. It is required.
	ReconcilerName string
	// Folder holds the golden files. It belongs to the suite: a golden file to which there is no case is an error, and is removed when
	// the files are written. Defaults to "testdata/golden".
	Folder string
	// OwnAnnotations are the suffixes of annotations that begin with the name of the reconciler, but are the operator's own. Defaults to
	// none: an annotation that the runtime does not know is an error then, since it is most likely misspelt.
	OwnAnnotations []string
}

// Case is one call of the generator.
type Case struct {
	// Name names the case and its golden file. It is required, and consists of letters, digits, dots, dashes and underscores.
	Name string
	// Reason says what the case is for; it is part of the messages. Defaults to nothing.
	Reason string

	// Namespace is where the objects of the component are to be. Defaults to "default".
	Namespace string
	// ComponentName is the name of the component. Defaults to "example".
	ComponentName string
	// Parameters are the spec of the component. Defaults to an empty map.
	Parameters types.Unstructurable
	// Revision is the revision of the component. Defaults to 1.
	Revision int64
	// Installed says that the component was completely installed in an earlier revision. Defaults to false.
	Installed bool

	// KubernetesVersion is the version of the cluster. Defaults to "v1.36.0".
	KubernetesVersion string
	// APIVersions are what the cluster serves besides the stable versions of Kubernetes itself, as "group/version" or
	// "group/version/Kind"; the kinds have namespaces. Defaults to nothing.
	APIVersions []string
	// Objects are what the clients in the context find in the cluster. Defaults to nothing.
	Objects []client.Object
	// Context adds to the context what the generator needs besides, the component itself for example (with
	// component.NewContext). Defaults to adding nothing.
	Context func(ctx context.Context) context.Context

	// Err is part of the error that generating must fail with; such a case has no golden file. Defaults to success.
	Err string
}

// Run runs each case as a subtest of its own name.
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
			return fmt.Errorf("case %d: invalid name %q; allowed are: letters, digits, dots, dashes and underscores", i+1, c.Name)
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
	if c.KubernetesVersion == "" {
		c.KubernetesVersion = "v1.36.0"
	}
	return c
}
