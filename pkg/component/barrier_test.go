// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"context"
	"errors"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/manifests"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/types"
)

// TestBarriersAreLiftedUnlessTheirDeletionGoesOn is about passes that follow one that has put up a barrier.
func TestBarriersAreLiftedUnlessTheirDeletionGoesOn(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		reason string
		act    func(s *stage)
		lifted int
	}{
		{"the deletion of the type goes on", func(*stage) {}, 0},
		{"nothing can be generated", func(s *stage) {
			s.worker.generator = manifests.GeneratorFunc(func(context.Context, string, string, types.Unstructurable) ([]client.Object, error) {
				return nil, errors.New("boom")
			})
		}, 1},
		{"the component is deleted", func(s *stage) { s.delete(s.widget) }, 0},
		{"the component is deleted, which foreign instances block", func(s *stage) {
			s.script.blockers = []reconciler.Blocker{{Type: schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Gadget"}, Name: "foreign"}}
			s.delete(s.widget)
		}, 1},
	} {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			definition := deployed("gadgets.example.com")
			definition[0].Barrier = "deletion-barrier-x"
			s.script.result = reconciler.Result{Inventory: definition, Waits: []reconciler.Notice{notice("Deployment", "gadgets.example.com", "soon")}}
			if _, _, err := s.pass(); err != nil {
				t.Fatal(err)
			}
			test.act(s)
			for range 2 { // the second pass finds nothing to be lifted
				_, _, _ = s.pass()
			}
			diff(t, "lifted", test.lifted, s.script.lifted)
			if test.lifted > 0 {
				diff(t, "recorded", "", s.widget.Status.Inventory[0].Barrier)
			}
		})
	}
}
