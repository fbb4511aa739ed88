// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apitypes "k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/requests"
	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/component/internal/resource"
	"github.com/component-operator/runtime/pkg/reconciler"
)

// curtain holds back what the watch of components delivers, as long as it is drawn.
type curtain struct {
	mu    sync.Mutex
	drawn chan struct{} // closed when the curtain is opened again; nil if it is open
}

// draw closes the curtain and returns a function that opens it.
func (c *curtain) draw() (open func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	drawn := make(chan struct{})
	c.drawn = drawn
	return sync.OnceFunc(func() { close(drawn) })
}

func (c *curtain) await() {
	c.mu.Lock()
	drawn := c.drawn
	c.mu.Unlock()
	if drawn != nil {
		<-drawn
	}
}

func (c *curtain) wrap(next http.RoundTripper) http.RoundTripper {
	return requests.RoundTripper(func(request *http.Request) (*http.Response, error) {
		response, err := next.RoundTrip(request)
		if about := requests.New(request.Method, request.URL); err == nil && about.Resource == "widgets" && about.IsWatch() {
			response.Body = &curtained{ReadCloser: response.Body, curtain: c}
		}
		return response, err
	})
}

type curtained struct {
	io.ReadCloser
	curtain *curtain
}

func (c *curtained) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	c.curtain.await()
	return n, err
}

// TestALeaderWithAnOutdatedPicture runs two operators, one of which sees what becomes of the dependents, but not of the component.
func TestALeaderWithAnOutdatedPicture(t *testing.T) {
	t.Parallel()
	const objects = oneConfigMap + "\n---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: unwanted}}"
	for _, test := range []struct {
		reason string
		act    func(r *rig, widget *Widget)
	}{
		{"the other one deletes what belongs to a component that is being deleted", func(r *rig, widget *Widget) {
			r.delete(widget)
			r.awaitGone(widget)
		}},
		{"the other one deletes what the component does not declare any more", func(r *rig, widget *Widget) {
			change(r, widget, func(w *Widget) { w.Spec.Objects = r.objects(oneConfigMap) })
			awaitReady(r, widget)
		}},
	} {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			informed, outdated := r.replica(), r.replica()
			view := &curtain{}
			outdated.config.Wrap(view.wrap)
			informed.start(r.reconciler(ReconcilerOptions{}))
			outdated.start(r.reconciler(ReconcilerOptions{}))
			widget := r.widget(objects)
			r.create(widget)
			awaitReady(r, widget)
			outdated.awaitWatches("configmaps")
			informed.settle(widget)
			outdated.settle(widget)

			open := view.draw()
			t.Cleanup(open)
			test.act(r, widget)
			written := func() int {
				return outdated.requests.Count(func(request testenv.Request) bool { return request.IsWrite() && request.Resource == "configmaps" })
			}
			testenv.Eventually(t, func() (bool, string) {
				asked := outdated.requests.Count(isQuestion)
				return asked+written() > 0, "the loss of the dependent is not noticed"
			})
			open()
			outdated.settleCounting()
			if count := written(); count > 0 {
				t.Errorf("want no dependent to be written, got %d writes:\n%s", count, outdated.requests)
			}
			if r.configMap("unwanted") != nil {
				t.Error("a dependent is left behind that nobody wants")
			}
		})
	}
}

// isQuestion reports whether the request reads one component from the server.
func isQuestion(request testenv.Request) bool {
	return request.Method == http.MethodGet && request.Resource == "widgets" && request.Name != ""
}

// TestRequestsOfHealing counts the requests that recreate deleted dependents.
func TestRequestsOfHealing(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.start(r.reconciler(ReconcilerOptions{}))
	widget := r.widget(oneConfigMap)
	r.create(widget)
	awaitReady(r, widget)
	r.settle(widget)
	r.delete(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: "settings"}})
	testenv.Eventually(t, func() (bool, string) { return r.configMap("settings") != nil, "the dependent is not created again" })
	r.settleCounting()
	questions, writes := r.requests.Count(isQuestion), r.requests.Count(func(request testenv.Request) bool {
		return request.IsWrite() && request.Resource == "configmaps"
	})
	if questions != 1 || writes != 1 {
		t.Errorf("want one question whether the component still wants it, and one write; got %d and %d:\n%s", questions, writes, r.requests)
	}
}

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
			if err := s.record.Save(r.tb.Context()); err != nil {
				r.tb.Fatal(err)
			}
		}, nil},
		{"what the component's own type adds to the status is somebody else's business", func(r *rig, _ *worker, _ *pass, widget *Widget) {
			widget.Status.Extra = "new"
			r.writeStatus(widget)
		}, nil},
		{"it is being deleted", func(r *rig, _ *worker, _ *pass, widget *Widget) { r.delete(widget) }, resource.ErrChanged},
		{"it is gone", func(r *rig, _ *worker, _ *pass, widget *Widget) { r.end(widget) }, resource.ErrChanged},
		{"it was recreated", func(r *rig, _ *worker, _ *pass, widget *Widget) {
			r.end(widget)
			r.create(r.widget(""))
		}, resource.ErrChanged},
		{"it declares something else", func(r *rig, _ *worker, _ *pass, widget *Widget) {
			change(r, widget, func(w *Widget) { w.Spec.Objects = r.objects(oneConfigMap) })
		}, resource.ErrChanged},
		{"its annotations say something else", func(r *rig, _ *worker, _ *pass, widget *Widget) {
			change(r, widget, func(w *Widget) { metav1.SetMetaDataAnnotation(&w.ObjectMeta, r.name+"/option", "new") })
		}, resource.ErrChanged},
		{"somebody has recorded that a dependent has served its purpose", func(r *rig, _ *worker, _ *pass, widget *Widget) {
			widget.Status.Inventory = deployed("web")
			widget.Status.Inventory[0].Phase = reconciler.PhaseScheduledForCompletion
			r.writeStatus(widget)
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
