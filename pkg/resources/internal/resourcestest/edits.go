// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package resourcestest

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/resources/generic"
)

// Edit is what a method of a mutator does.
type Edit[P, M any] struct {
	// Why says what the row is about.
	Why    string
	Start  P
	Record func(mutator M)
	Want   P
	// Says are texts in the error; empty if there is none.
	Says []string
}

// CheckEdits checks that edits have their effect when they are applied, and not before, and that recording one twice has the effect of recording it once.
func CheckEdits[P client.Object, M generic.Mutator](t *testing.T, newMutator func(P) M, edits []Edit[P, M]) {
	t.Helper()
	for _, edit := range edits {
		t.Run(edit.Why, func(t *testing.T) {
			for times := 1; times <= 2; times++ {
				object, ok := edit.Start.DeepCopyObject().(P)
				if !ok {
					t.Fatalf("the copy is a %T", object)
				}
				mutator := newMutator(object)
				for range times {
					edit.Record(mutator)
				}
				if diff := cmp.Diff(edit.Start, object); diff != "" {
					t.Errorf("recording has changed the object (-before +after):\n%s", diff)
				}
				err := mutator.Apply()
				if len(edit.Says) > 0 {
					ExpectError(t, err, edit.Says...)
					continue
				}
				expect(t, "object", edit.Want, object, err)
			}
		})
	}
}
