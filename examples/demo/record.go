// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/discovery"
	toolswatch "k8s.io/client-go/tools/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// An event is a watch event about a dependent.
type event struct {
	// at is the time of arrival.
	at time.Time
	// revision orders events, also those of different kinds: all objects of a sandbox are in one etcd.
	revision int64
	// deleted reports whether the object is gone; object is then its last version.
	deleted bool
	object  *unstructured.Unstructured
}

// is reports whether the event is about the object of that kind and name.
func (e event) is(kind, name string) bool {
	return e.object.GetKind() == kind && e.object.GetName() == name
}

// A record holds the events of dependents of all types. It is safe for concurrent use.
type record struct {
	client client.WithWatch
	label  string // marks dependents; there is an annotation of the same key

	mu     sync.Mutex
	events []event
	err    error
}

// watchAll starts to record objects of all types that the API server has, until the context ends.
func (r *record) watchAll(ctx context.Context, server discovery.DiscoveryInterface) error {
	kinds, err := watchableKinds(server)
	if err != nil {
		return err
	}
	for _, kind := range kinds {
		// A type may be deleted after it was discovered.
		if err := r.watch(ctx, kind); err != nil && !isGone(err) {
			return err
		}
	}
	return nil
}

// watch starts to record objects of one type.
func (r *record) watch(ctx context.Context, kind schema.GroupVersionKind) error {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind)
	if err := r.client.List(ctx, list, client.HasLabels{r.label}); err != nil {
		return fmt.Errorf("listing %s: %w", kind, err)
	}
	for i := range list.Items {
		if err := r.add(watch.Event{Type: watch.Added, Object: &list.Items[i]}); err != nil {
			return err
		}
	}
	// The API server ends a watch for many reasons, such as a change of the type. The retry watcher continues where it
	// ended.
	watcher, err := toolswatch.NewRetryWatcherWithContext(ctx, list.GetResourceVersion(), watcher{record: r, kind: kind})
	if err != nil {
		return fmt.Errorf("watching %s: %w", kind, err)
	}
	go r.follow(ctx, kind, watcher.ResultChan())
	return nil
}

// A watcher watches labeled objects of one type.
type watcher struct {
	record *record
	kind   schema.GroupVersionKind
}

// WatchWithContext starts to watch. The options say from which revision.
func (w watcher) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(w.kind)
	return w.record.client.Watch(ctx, list, &client.ListOptions{Raw: &options}, client.HasLabels{w.record.label})
}

// follow records events until there are no more. If somebody changes the definition of a type, the API server forgets
// its revisions; recording begins anew then, unless there are objects of ours of which events may be missing.
func (r *record) follow(ctx context.Context, kind schema.GroupVersionKind, changes <-chan watch.Event) {
	for change := range changes {
		err := r.add(change)
		if apierrors.IsResourceExpired(err) && !r.has(kind) {
			err = r.watch(ctx, kind)
		}
		if err != nil && !isGone(err) && ctx.Err() == nil {
			r.fail(fmt.Errorf("watching %s: %w", kind, err))
		}
	}
}

// has reports whether a dependent of the type was recorded.
func (r *record) has(kind schema.GroupVersionKind) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(r.events, func(e event) bool { return e.object.GroupVersionKind() == kind })
}

func (r *record) add(change watch.Event) error {
	if change.Type == watch.Error {
		return apierrors.FromObject(change.Object)
	}
	object, ok := change.Object.(*unstructured.Unstructured)
	if !ok {
		return fmt.Errorf("unexpected object of type %T", change.Object)
	}
	if !r.isDependent(object) {
		return nil
	}
	revision, err := strconv.ParseInt(object.GetResourceVersion(), 10, 64)
	if err != nil {
		return fmt.Errorf("reading the resourceVersion of %s: %w", nameOf(object), err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, event{at: time.Now(), revision: revision, deleted: change.Type == watch.Deleted, object: object})
	return nil
}

// isDependent reports whether an object with our label is a dependent. Endpoints, for example, are not: their
// controller copies the labels of a Service, but not its annotations.
func (r *record) isDependent(object *unstructured.Unstructured) bool {
	_, ok := object.GetAnnotations()[r.label]
	return ok
}

func (r *record) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.err = errors.Join(r.err, err)
}

// after returns the events with a revision above the given one, in the order of revisions.
func (r *record) after(revision int64) ([]event, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	events := slices.DeleteFunc(slices.Clone(r.events), func(e event) bool { return e.revision <= revision })
	slices.SortStableFunc(events, func(a, b event) int { return int(a.revision - b.revision) })
	return events, r.err
}

// watchableKinds returns all types that can be listed and watched, apart from events.
func watchableKinds(server discovery.DiscoveryInterface) ([]schema.GroupVersionKind, error) {
	lists, err := discovery.ServerPreferredResources(server)
	if err != nil {
		return nil, fmt.Errorf("discovering types: %w", err)
	}
	var kinds []schema.GroupVersionKind
	for _, list := range lists {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, fmt.Errorf("discovering types: %w", err)
		}
		for _, resource := range list.APIResources {
			if isWatchable(resource) && resource.Kind != "Event" {
				kinds = append(kinds, version.WithKind(resource.Kind))
			}
		}
	}
	return kinds, nil
}

func isWatchable(resource metav1.APIResource) bool {
	return !strings.Contains(resource.Name, "/") && slices.Contains(resource.Verbs, "list") && slices.Contains(resource.Verbs, "watch")
}

// nameOf names an object by kind and name.
func nameOf(object client.Object) string {
	name := object.GetName()
	if namespace := object.GetNamespace(); namespace != "" {
		name = namespace + "/" + name
	}
	return object.GetObjectKind().GroupVersionKind().Kind + " " + name
}

// isGone reports whether an error says that the object, or its type, does not exist.
func isGone(err error) bool {
	return apierrors.IsNotFound(err) || meta.IsNoMatchError(err)
}
