// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"github.com/component-operator/runtime/internal/lists"
)

// source is what a watch covers.
type source struct {
	resource schema.GroupVersionResource
	// namespace is empty for all namespaces, selector for all objects.
	namespace, selector string
}

// listAndWatch fills the store with objects. It returns when the watch cannot be continued; an ordinary end of the watch is no error.
func (c *Cache) listAndWatch(ctx context.Context, s source, gvk schema.GroupVersionKind, store cache.ReflectorStore) error {
	expected := &unstructured.Unstructured{}
	expected.SetGroupVersionKind(gvk)
	return c.reflect(ctx, s, expected, lists.Of(c.dynamic.Resource(s.resource).Namespace(s.namespace), lists.Selection{Labels: s.selector}), store)
}

// listAndWatchMetadata is listAndWatch, but the server sends nothing but metadata.
func (c *Cache) listAndWatchMetadata(ctx context.Context, s source, store cache.ReflectorStore) error {
	objects := lists.Of(c.metadata.Resource(s.resource).Namespace(s.namespace), lists.Selection{Labels: s.selector})
	return c.reflect(ctx, s, &metav1.PartialObjectMetadata{}, objects, store)
}

func (c *Cache) reflect(ctx context.Context, s source, expected runtime.Object, objects *cache.ListWatch, store cache.ReflectorStore) error {
	options := cache.ReflectorOptions{Name: s.resource.GroupResource().String() + " in namespace '" + s.namespace + "' with labels '" + s.selector + "'"}
	if c.options.Delay <= 0 {
		return cache.NewReflectorWithOptions(objects, expected, store, options).ListAndWatchWithContext(c.quiet(ctx))
	}
	reflector := cache.NewReflectorWithOptions(patient{ListWatch: objects, wait: c.awaitFollowers}, expected, store, options)
	reflector.WatchListPageSize = listPage
	return reflector.ListAndWatchWithContext(c.quiet(ctx))
}

// listPage is how many objects a response to a list has at most: more than almost any owner has of a kind.
const listPage = 5000

// patient lists first, and watches from there on after a while. A watch that begins with what there is would send the list, too, but each object as an
// event.
type patient struct {
	*cache.ListWatch

	wait func(ctx context.Context) error
}

// IsWatchListSemanticsUnSupported has the reflector make a list of its own.
func (patient) IsWatchListSemanticsUnSupported() bool { return true }

// ListWithContext lists what is there now; a reflector would be content with what the server happens to remember.
func (p patient) ListWithContext(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	options.ResourceVersion, options.ResourceVersionMatch = "", ""
	return p.ListWatch.ListWithContext(ctx, options)
}

// WatchWithContext watches after the wait.
func (p patient) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	if err := p.wait(ctx); err != nil {
		return nil, err
	}
	return p.ListWatch.WatchWithContext(ctx, options)
}
