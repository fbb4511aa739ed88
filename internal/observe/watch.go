// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"github.com/component-operator/runtime/internal/apiserver"
	"github.com/component-operator/runtime/pkg/cluster"
)

// source is the scope of a watch.
type source struct {
	resource schema.GroupVersionResource
	// namespace is empty for all namespaces, selector and fields for all objects.
	namespace, selector, fields string
}

// receiver handles the lists and events of a watch. For untrusted clusters, it receives trimmed objects.
type receiver interface {
	cache.TransformingStore
	// begin is called before the first page of a list.
	begin()
	// opened handles the answer to a watch request: nil if the watch is open.
	opened(err error)
}

// listAndWatch fills the store. It returns when the watch cannot be continued. The ordinary end of a watch is no error.
func (c *Cache) listAndWatch(ctx context.Context, s source, gvk schema.GroupVersionKind, store receiver) error {
	expected := &unstructured.Unstructured{}
	expected.SetGroupVersionKind(gvk)
	selection := apiserver.ListSelection{Labels: s.selector, Fields: s.fields}
	return c.reflect(ctx, s, expected, apiserver.ListWatch(c.dynamic.Resource(s.resource).Namespace(s.namespace), selection), store)
}

// listAndWatchMetadata is listAndWatch with metadata only.
func (c *Cache) listAndWatchMetadata(ctx context.Context, s source, store receiver) error {
	objects := apiserver.ListWatch(c.metadata.Resource(s.resource).Namespace(s.namespace), apiserver.ListSelection{Labels: s.selector, Fields: s.fields})
	return c.reflect(ctx, s, &metav1.PartialObjectMetadata{}, objects, store)
}

func (c *Cache) reflect(ctx context.Context, s source, expected runtime.Object, objects *cache.ListWatch, store receiver) error {
	options := cache.ReflectorOptions{Name: s.resource.GroupResource().String() + " in namespace '" + s.namespace + "' with labels '" + s.selector + "'"}
	request := objects.WatchFuncWithContext
	objects.WatchFuncWithContext = func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
		open, err := request(ctx, options)
		store.opened(err)
		return open, err
	}
	if c.options.MaxBytes > 0 {
		objects.ListWithContextFunc = trimmed(objects.ListWithContextFunc, store)
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

// trimmed lists with trimmed objects.
func trimmed(list cache.ListWithContextFunc, store receiver) cache.ListWithContextFunc {
	trim := store.Transformer()
	return func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		if options.Continue == "" {
			store.begin()
		}
		page, err := list(ctx, options)
		if err != nil {
			return nil, err
		}
		about, err := meta.ListAccessor(page)
		if err != nil {
			return nil, fmt.Errorf("reading a list: %w", err)
		}
		small := &internalversion.List{ListMeta: metav1.ListMeta{
			ResourceVersion: about.GetResourceVersion(), Continue: about.GetContinue(), RemainingItemCount: about.GetRemainingItemCount(),
		}}
		return small, meta.EachListItem(page, func(object runtime.Object) error {
			item, err := trim(object)
			if err != nil {
				return err
			}
			if kept, ok := item.(runtime.Object); ok {
				small.Items = append(small.Items, kept)
			}
			return nil
		})
	}
}

// events passes on the lists and events of a metadata watch, without labels and annotations.
type events struct {
	// all is called with a complete list, and one with each change after that.
	all func(objects []metav1.Object)
	one func(object metav1.Object, gone bool)

	most   int                     // the maximum length of a list; zero for any
	end    context.CancelCauseFunc // is called if a list is longer
	listed atomic.Int64
}

// longestName is the maximum length of the names of objects in bytes.
const longestName = 512

// Transformer returns the function that trims the objects of a list.
func (e *events) Transformer() cache.TransformFunc {
	return func(object any) (any, error) {
		found, err := meta.Accessor(object)
		if err != nil {
			return nil, fmt.Errorf("reading metadata: %w", err)
		}
		if e.most > 0 && (e.listed.Add(1) > int64(e.most) || len(found.GetNamespace())+len(found.GetName()) > longestName) {
			e.end(errTooMany)
			return nil, errTooMany
		}
		small := &metav1.PartialObjectMetadata{}
		small.Namespace, small.Name, small.ResourceVersion = found.GetNamespace(), found.GetName(), found.GetResourceVersion()
		return small, nil
	}
}

func (e *events) begin() { e.listed.Store(0) }

func (e *events) opened(error) { e.begin() }

// Replace passes on a complete list.
func (e *events) Replace(objects []any, _ string) error {
	all := make([]metav1.Object, len(objects))
	for i, object := range objects {
		var err error
		if all[i], err = meta.Accessor(object); err != nil {
			return fmt.Errorf("reading metadata: %w", err)
		}
	}
	e.all(all)
	return nil
}

// Add passes on a new object.
func (e *events) Add(object any) error { return e.pass(object, false) }

// Update passes on a changed object.
func (e *events) Update(object any) error { return e.pass(object, false) }

// Delete passes on a deleted object.
func (e *events) Delete(object any) error { return e.pass(object, true) }

// Resync does nothing.
func (e *events) Resync() error { return nil }

func (e *events) pass(object any, gone bool) error {
	found, err := meta.Accessor(object)
	if err != nil {
		return fmt.Errorf("reading metadata: %w", err)
	}
	e.one(found, gone)
	return nil
}

// observe is listAndWatchMetadata with functions instead of a store; see events.
func (c *Cache) observe(ctx context.Context, s source, all func([]metav1.Object), one func(object metav1.Object, gone bool)) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	err := c.listAndWatchMetadata(ctx, s, &events{all: all, one: one, most: int(c.options.MaxBytes / fixedSize), end: end})
	if err == nil && errors.Is(context.Cause(ctx), errTooMany) {
		return errTooMany // the reflector takes a context that has ended for an ordinary end
	}
	return err
}

// ofType calls a function that watches a type with the resource of the type. The type may be served under another
// resource name later, which the next attempt needs.
func (c *Cache) ofType(ctx context.Context, gvk schema.GroupVersionKind, watch func(*meta.RESTMapping) error) error {
	mapping, err := c.options.Mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return fmt.Errorf("finding the resource: %w", err)
	}
	if err = watch(mapping); cluster.IsTypeless(err) {
		return errors.Join(err, cluster.RenewTypes(ctx, c.options.Mapper, gvk.Group))
	}
	return err
}

// steady is the minimum duration of a watch whose end does not count as a failure. If listing is allowed and watching
// is not, each attempt begins with a success.
const steady = 10 * time.Second

// jitter is the maximum random part that is added to a delay.
const jitter = 0.25

// repeat makes attempts to watch until the context ends, and calls a function after each of them.
func repeat(ctx context.Context, attempt func(context.Context) error, ended func(error)) {
	for attempts := 0; ctx.Err() == nil; attempts = min(attempts+1, 15) {
		begun := time.Now()
		err := attempt(ctx)
		if ctx.Err() != nil {
			return
		}
		if time.Since(begun) > steady {
			attempts = 0
		}
		ended(err)
		select {
		case <-ctx.Done():
		case <-time.After(wait.Jitter(min(250*time.Millisecond<<attempts, longestDelay(err)), jitter)):
		}
	}
}

// longestDelay returns the maximum time between two attempts to watch.
func longestDelay(err error) time.Duration {
	if apierrors.IsForbidden(err) {
		// Permissions change rarely, and each attempt is a request.
		return 30 * time.Minute
	}
	return time.Minute
}

// firstDelay is the delay before the first discovery of types that were not served.
const firstDelay = 250 * time.Millisecond

// absences makes the watches of types that are not served wait until they are. One discovery serves all waiting types;
// so a record that names thousands of types costs no more than one that names a single type.
type absences struct {
	// list discovers the served types.
	list func() (served, error)
	// kick makes the next discovery take place soon. It has a capacity of one.
	kick chan struct{}

	mu      sync.Mutex
	waiting map[schema.GroupVersionKind]*absence
	watched bool // changes of types are reported
}

// absence is a type that watches wait for.
type absence struct {
	served chan struct{} // closed when the type is served
	count  int           // number of waiting watches
}

func newAbsences(list func() (served, error)) *absences {
	return &absences{list: list, kick: make(chan struct{}, 1), waiting: map[schema.GroupVersionKind]*absence{}}
}

// lookDelay returns the time until the next discovery. While changes of types are reported, a discovery without one is
// only a precaution.
func lookDelay(attempts int, watched bool) time.Duration {
	longest := time.Minute
	if watched {
		longest = 30 * time.Minute
	}
	return min(firstDelay<<min(attempts, 15), longest)
}

// await returns when the type is served, or the context has ended.
func (a *absences) await(ctx context.Context, gvk schema.GroupVersionKind) {
	a.mu.Lock()
	waited := a.waiting[gvk]
	if waited == nil {
		waited = &absence{served: make(chan struct{})}
		a.waiting[gvk] = waited
		a.expect()
	}
	waited.count++
	a.mu.Unlock()
	select {
	case <-waited.served:
	case <-ctx.Done():
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if waited.count--; waited.count == 0 && a.waiting[gvk] == waited {
		delete(a.waiting, gvk)
	}
}

// expect makes the next discovery take place soon.
func (a *absences) expect() {
	select {
	case a.kick <- struct{}{}:
	default:
	}
}

// follow notes whether changes of types are reported from now on. Types may have changed while they were not.
func (a *absences) follow(watched bool) {
	a.mu.Lock()
	a.watched = watched
	a.mu.Unlock()
	a.expect()
}

// run discovers the served types at growing intervals while watches wait, until the context ends. The server serves a
// type a moment after it is defined.
func (a *absences) run(ctx context.Context) {
	attempts, due := 0, time.Time{}
	for {
		var timer <-chan time.Time
		a.mu.Lock()
		if len(a.waiting) > 0 {
			timer = time.After(time.Until(due))
		}
		watched := a.watched
		a.mu.Unlock()
		select {
		case <-ctx.Done():
			return
		case <-a.kick:
			attempts = 0
			if soon := time.Now().Add(wait.Jitter(firstDelay, jitter)); due.Before(time.Now()) || soon.Before(due) {
				due = soon
			}
		case <-timer:
			a.look()
			attempts++
			due = time.Now().Add(wait.Jitter(lookDelay(attempts, watched), jitter))
		}
	}
}

// look discovers the served types.
func (a *absences) look() {
	known, err := a.list()
	if err != nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for gvk, waited := range a.waiting {
		if known.has(gvk) {
			close(waited.served)
			delete(a.waiting, gvk)
		}
	}
}

// served are the resources that a server serves, by version; nil if it does not list them together with the groups.
type served map[schema.GroupVersion]*metav1.APIResourceList

// has reports whether a type is served, or may be.
func (s served) has(gvk schema.GroupVersionKind) bool {
	list := s[gvk.GroupVersion()]
	return s == nil || list != nil && slices.ContainsFunc(list.APIResources, func(resource metav1.APIResource) bool { return resource.Kind == gvk.Kind })
}
