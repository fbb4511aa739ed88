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
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// An event is something that happened to a dependent, as the API server told it.
type event struct {
	// at is when it was heard of.
	at time.Time
	// revision orders events, also those of different kinds: all objects of a sandbox are in one etcd.
	revision int64
	// deleted tells that the object is gone; the object is its last version then.
	deleted bool
	object  *unstructured.Unstructured
}

// is tells whether the event is about the object of that kind and name.
func (e event) is(kind, name string) bool {
	return e.object.GetKind() == kind && e.object.GetName() == name
}

// A record holds everything that happens to objects with a certain label, whatever their type. It may be used
// concurrently.
type record struct {
	client client.WithWatch
	label  string

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
		if err := r.watch(ctx, kind); err != nil {
			return err
		}
	}
	return nil
}

// watch starts to record objects of one type.
func (r *record) watch(ctx context.Context, kind schema.GroupVersionKind) error {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind)
	watcher, err := r.client.Watch(ctx, list, client.HasLabels{r.label})
	if err != nil {
		return fmt.Errorf("watching %s: %w", kind, err)
	}
	go r.follow(ctx, kind, watcher)
	return nil
}

func (r *record) follow(ctx context.Context, kind schema.GroupVersionKind, watcher watch.Interface) {
	defer watcher.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case change, ok := <-watcher.ResultChan():
			if !ok {
				return // the type was deleted, or the sandbox has ended
			}
			if err := r.add(change); err != nil && ctx.Err() == nil {
				r.fail(fmt.Errorf("watching %s: %w", kind, err))
				return
			}
		}
	}
}

func (r *record) add(change watch.Event) error {
	if change.Type == watch.Error {
		return fmt.Errorf("%v", change.Object)
	}
	object, ok := change.Object.(*unstructured.Unstructured)
	if !ok {
		return fmt.Errorf("unexpected object of type %T", change.Object)
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

// nameOf names an object the way people do.
func nameOf(object client.Object) string {
	name := object.GetName()
	if namespace := object.GetNamespace(); namespace != "" {
		name = namespace + "/" + name
	}
	return object.GetObjectKind().GroupVersionKind().Kind + " " + name
}

// isGone tells whether an error says that there is no such object, or not even such a type.
func isGone(err error) bool {
	return apierrors.IsNotFound(err) || meta.IsNoMatchError(err)
}
