// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package resourcestest

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/component-operator/runtime/pkg/resources/concepts"
	"github.com/component-operator/runtime/pkg/resources/generic"
)

// Refused is an object that cannot be built.
type Refused[P any] struct {
	// Why says what the row is about.
	Why string
	// Break makes a valid object one that is refused.
	Break func(object P)
	// Says are texts in the error.
	Says []string
}

// CheckBuild checks which objects of a kind with a Go type can be built. Each call of the function returns the same valid object; it has a namespace if the kind is namespaced.
func CheckBuild[T any, P generic.Object[T], M generic.Mutator, F generic.Mutation[M], S concepts.Converging](
	t *testing.T, newBuilder func(P) *generic.Builder[T, P, M, F, S], valid func() P, identity string, refused ...Refused[P],
) {
	t.Helper()
	object := valid()
	resource, err := newBuilder(object).Build()
	if err != nil {
		t.Fatal(err)
	}
	object.SetName("changed-later")
	expect(t, "identity", identity, resource.Identity(), nil)

	_, err = newBuilder(nil).Build()
	ExpectError(t, err, "object must not be nil")
	refused = append(refused, Refused[P]{Why: "an object without a name", Break: func(object P) { object.SetName("") }, Says: []string{"metadata.name must not be empty"}}, Refused[P]{
		Why: "an object of another type", Break: func(object P) {
			object.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Other"})
		}, Says: []string{"example.com/v1, Kind=Other"},
	})
	if valid().GetNamespace() == "" {
		refused = append(refused, Refused[P]{
			Why: "a namespace of a cluster-scoped object", Break: func(object P) { object.SetNamespace("default") }, Says: []string{"metadata.namespace", "cluster-scoped"},
		})
	} else {
		refused = append(refused, Refused[P]{
			Why: "an object without a namespace", Break: func(object P) { object.SetNamespace("") }, Says: []string{"metadata.namespace must not be empty"},
		})
	}
	for _, row := range refused {
		t.Run(row.Why, func(t *testing.T) {
			object := valid()
			row.Break(object)
			_, err := newBuilder(object).Build()
			ExpectError(t, err, row.Says...)
		})
	}
}

// ExpectError checks that there is an error that has all these texts.
func ExpectError(t *testing.T, err error, texts ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("there is no error; wanted is one with %q", texts)
		return
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("the error lacks %q: %v", text, err)
		}
	}
}
