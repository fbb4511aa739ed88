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

	"github.com/component-operator/runtime/internal/apiserver"
)

// source is what a watch covers.
type source struct {
	resource schema.GroupVersionResource
	// namespace is empty for all namespaces, selector and fields for all objects.
	namespace, selector, fields string
}

// opening is a store that wants to know the answers to requests to watch: nil if the watch is open.
type opening interface {
	opened(err error)
}

// listAndWatch fills the store. It returns when the watch cannot be continued. The ordinary end of a watch is no error.
func (c *Cache) listAndWatch(ctx context.Context, s source, gvk schema.GroupVersionKind, store cache.ReflectorStore) error {
	expected := &unstructured.Unstructured{}
	expected.SetGroupVersionKind(gvk)
	selection := apiserver.ListSelection{Labels: s.selector, Fields: s.fields}
	return c.reflect(ctx, s, expected, apiserver.ListWatch(c.dynamic.Resource(s.resource).Namespace(s.namespace), selection), store)
}

// listAndWatchMetadata is listAndWatch with metadata only.
func (c *Cache) listAndWatchMetadata(ctx context.Context, s source, store cache.ReflectorStore) error {
	if _, ok := store.(trims); c.options.MaxBytes > 0 && !ok {
		return c.listAndWatchTrimmed(ctx, s, store)
	}
	objects := apiserver.ListWatch(c.metadata.Resource(s.resource).Namespace(s.namespace), apiserver.ListSelection{Labels: s.selector, Fields: s.fields})
	return c.reflect(ctx, s, &metav1.PartialObjectMetadata{}, objects, store)
}

func (c *Cache) reflect(ctx context.Context, s source, expected runtime.Object, objects *cache.ListWatch, store cache.ReflectorStore) error {
	options := cache.ReflectorOptions{Name: s.resource.GroupResource().String() + " in namespace '" + s.namespace + "' with labels '" + s.selector + "'"}
	if told, ok := store.(opening); ok {
		request := objects.WatchFuncWithContext
		objects.WatchFuncWithContext = func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			open, err := request(ctx, options)
			told.opened(err)
			return open, err
		}
	}
	if small, ok := store.(trims); ok && c.options.MaxBytes > 0 {
		objects.ListWithContextFunc = trimmed(objects.ListWithContextFunc, small)
	}
	if c.options.Delay <= 0 {
		return cache.NewReflectorWithOptions(objects, expected, store, options).ListAndWatchWithContext(c.quiet(ctx))
	}
	reflector := cache.NewReflectorWithOptions(delayed{ListWatch: objects, wait: c.awaitFollow}, expected, store, options)
	reflector.WatchListPageSize = listPage
	return reflector.ListAndWatchWithContext(c.quiet(ctx))
}

// listPage is the maximum number of objects in one page of a list: more than almost any owner has of one kind.
const listPage = 5000

// delayed lists objects, and watches them only after a wait. A watch that sends initial events would cost more than a
// list, because it sends each object as an event.
type delayed struct {
	*cache.ListWatch

	wait func(ctx context.Context) error
}

// IsWatchListSemanticsUnSupported makes the reflector list before it watches.
func (delayed) IsWatchListSemanticsUnSupported() bool { return true }

// ListWithContext lists the current state; a reflector would accept the server's cache.
func (d delayed) ListWithContext(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	options.ResourceVersion, options.ResourceVersionMatch = "", ""
	return d.ListWatch.ListWithContext(ctx, options)
}

// WatchWithContext watches after the wait.
func (d delayed) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	if err := d.wait(ctx); err != nil {
		return nil, err
	}
	return d.ListWatch.WatchWithContext(ctx, options)
}
