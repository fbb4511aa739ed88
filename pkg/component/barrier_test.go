// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/testenv"
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

// barriers returns the kinds of the barriers that the operators of the rig have put up.
func (r *rig) barriers() (kinds []string) {
	r.tb.Helper()
	for _, kind := range []string{"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"} {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(schema.GroupVersionKind{Group: "admissionregistration.k8s.io", Version: "v1", Kind: kind + "List"})
		if err := r.client.List(r.tb.Context(), list, client.HasLabels{r.name + "/barrier-owner-id"}); err != nil {
			r.tb.Fatal(err)
		}
		for range list.Items {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// TestDeathWhileATypeIsDeletedWithItsComponent lets the process die after each of its writes: the next process deletes
// the type, and removes the barrier in front of it.
func TestDeathWhileATypeIsDeletedWithItsComponent(t *testing.T) {
	t.Parallel()
	// The whole deletion takes eight writes.
	for survived := 1; survived <= 8; survived++ {
		t.Run(fmt.Sprint(survived), func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			group := testenv.UniqueName(t) + ".example.io"
			stop := r.start(r.reconciler(ReconcilerOptions{}))
			widget := r.widget(strings.ReplaceAll(gadgets, "GROUP", group))
			r.create(widget)
			awaitReady(r, widget)
			stop()
			r.dieAfter(survived, func() { r.delete(widget) }, func() bool { return r.isGone(widget) })
			r.awaitGone(widget)
			definition := &metav1.PartialObjectMetadata{}
			definition.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
			if err := r.client.Get(t.Context(), client.ObjectKey{Name: "gadgets." + group}, definition); !apierrors.IsNotFound(err) {
				t.Errorf("want the type to be gone: %v", err)
			}
			testenv.Eventually(t, func() (bool, string) {
				left := r.barriers()
				return len(left) == 0, fmt.Sprint("left behind: ", left)
			})
		})
	}
}
