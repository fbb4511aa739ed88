// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"context"
	"errors"
	"testing"

	apitypes "k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/component/internal/resource"
)

// mute is a server that does not answer.
type mute struct{ client.Reader }

var errMute = errors.New("no answer")

func (mute) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return errMute
}

func TestStillWants(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		reason string
		act    func(r *rig, w *worker, s *pass, widget *Widget)
		want   error
	}{
		{"nothing has happened", func(*rig, *worker, *pass, *Widget) {}, nil},
		{"what this pass has written is known", func(r *rig, w *worker, s *pass, _ *Widget) {
			s.status.Revision = 7
			if err := s.record.SaveStatus(r.tb.Context()); err != nil {
				r.tb.Fatal(err)
			}
		}, nil},
		{"it is being deleted", func(r *rig, _ *worker, _ *pass, widget *Widget) { r.delete(widget) }, resource.ErrChanged},
		{"it is gone", func(r *rig, _ *worker, _ *pass, widget *Widget) { r.end(widget) }, resource.ErrChanged},
		{"it declares something else", func(r *rig, _ *worker, _ *pass, widget *Widget) {
			change(r, widget, func(w *Widget) { w.Spec.Objects = r.objects(oneConfigMap) })
		}, resource.ErrChanged},
		{"the server does not say", func(_ *rig, w *worker, _ *pass, _ *Widget) { w.resource.Live = mute{} }, errMute},
	} {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			w := r.bareWorker(newWidget, "Widget")
			widget := r.widget("")
			widget.Finalizers = []string{"test.example.io/hold"}
			r.create(widget)
			widget.Status.Inventory = deployed("web")
			r.writeStatus(widget)
			s := r.begin(w, widget)
			test.act(r, w, s, widget)
			if err := s.owner().Confirm(t.Context()); !errors.Is(err, test.want) {
				t.Errorf("want %v, got %v", test.want, err)
			}
		})
	}
}

func (r *rig) writeStatus(widget *Widget) {
	r.tb.Helper()
	if err := r.client.Status().Update(r.tb.Context(), widget); err != nil {
		r.tb.Fatal(err)
	}
}

// end deletes a widget that has a finalizer.
func (r *rig) end(widget *Widget) {
	r.tb.Helper()
	r.delete(widget)
	patch := client.RawPatch(apitypes.JSONPatchType, []byte(`[{"op": "remove", "path": "/metadata/finalizers"}]`))
	if err := r.client.Patch(r.tb.Context(), widget, patch); err != nil {
		r.tb.Fatal(err)
	}
	r.awaitGone(widget)
}
