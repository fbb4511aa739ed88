// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package operatortest

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/component-operator/runtime/pkg/component"
)

// A Step is a state that a component went through.
type Step struct {
	State, Reason, Message string
}

// String is the step in one line.
func (s Step) String() string {
	return s.State + " (" + s.Reason + "): " + s.Message
}

// Timeline returns the states that a component went through since the test applied it, or waited for it first. A state that did not last until the next one counts too.
func (c *Cluster) Timeline(tb testing.TB, object client.Object) []Step {
	tb.Helper()
	history := c.observe(tb, object)
	history.mu.Lock()
	defer history.mu.Unlock()
	return slices.Clone(history.steps)
}

// history is what a watch reports of an object.
type history struct {
	mu     sync.Mutex
	latest *unstructured.Unstructured // nil before the first event
	gone   bool
	steps  []Step
	// changed is closed and replaced with each event.
	changed chan struct{}
}

// observe watches an object until the test ends. The first call for an object starts the watch.
func (c *Cluster) observe(tb testing.TB, object client.Object) *history {
	tb.Helper()
	key := c.locate(tb, object)
	gvk, err := apiutil.GVKForObject(object, c.scheme)
	if err != nil {
		tb.Fatalf("%T: the scheme does not know the type: %v", object, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if found := c.histories[key]; found != nil {
		return found
	}
	history := &history{changed: make(chan struct{})}
	c.histories[key] = history
	c.running.Go(func() { history.follow(c.ctx, c.client, key.ObjectKey, gvk) })
	return history
}

// follow watches, again and again, because the API server ends watches.
func (h *history) follow(ctx context.Context, clnt client.WithWatch, key client.ObjectKey, gvk schema.GroupVersionKind) {
	for ctx.Err() == nil {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(schema.GroupVersionKind{Group: gvk.Group, Version: gvk.Version, Kind: gvk.Kind + "List"})
		watcher, err := clnt.Watch(ctx, list, client.InNamespace(key.Namespace), client.MatchingFieldsSelector{
			Selector: fields.OneTermEqualSelector("metadata.name", key.Name),
		})
		if err != nil {
			pause(ctx)
			continue
		}
		for event := range watcher.ResultChan() {
			if object, ok := event.Object.(*unstructured.Unstructured); ok && event.Type != watch.Error {
				h.record(object, event.Type == watch.Deleted)
			}
		}
		watcher.Stop()
	}
}

// pause waits a moment before the next attempt.
func pause(ctx context.Context) {
	timer := time.NewTimer(20 * time.Millisecond)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

func (h *history) record(object *unstructured.Unstructured, gone bool) {
	status, _ := statusOf(object)
	step := stepOf(status)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.latest, h.gone = object, gone
	if step.State != "" && !gone && (len(h.steps) == 0 || h.steps[len(h.steps)-1] != step) {
		h.steps = append(h.steps, step)
	}
	close(h.changed)
	h.changed = make(chan struct{})
}

// now returns the latest state of the object, and a channel that is closed when it is outdated.
func (h *history) now() (latest *unstructured.Unstructured, gone bool, outdated <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.latest, h.gone, h.changed
}

// awaitGone waits until the object is gone. It returns the object if that cannot be expected any more, because the time is over or the operator has ended.
func (h *history) awaitGone(ctx context.Context, ended <-chan struct{}) *unstructured.Unstructured {
	for {
		latest, gone, outdated := h.now()
		if gone {
			return nil
		}
		select {
		case <-outdated:
		case <-ctx.Done():
			return latest
		case <-ended:
			return latest
		}
	}
}

// stepOf returns the state in a status.
func stepOf(status *component.Status) Step {
	state, reason, message := status.GetState()
	return Step{State: string(state), Reason: reason, Message: message}
}

// statusOf returns the status of a component, which is empty if the object is none.
func statusOf(object *unstructured.Unstructured) (*component.Status, error) {
	status := &component.Status{}
	content, found, err := unstructured.NestedMap(object.Object, "status")
	if err != nil || !found {
		return status, err
	}
	return status, runtime.DefaultUnstructuredConverter.FromUnstructured(content, status)
}
