// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"fmt"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
	"k8s.io/klog/v2"
)

// Change is what has happened to objects.
type Change struct {
	// Objects are all that exist, or one that was created, changed or deleted.
	Objects []runtime.Object
	// Deleted means that the object was deleted.
	Deleted bool
}

// Watch calls a function for all objects, and then for each change, until the context ends, which is no error. An error
// of the function ends the watch. If changes were missed, the function gets all objects again.
func Watch(ctx context.Context, source *cache.ListWatch, tell func(Change) error) error {
	// Logged errors are also returned.
	ctx = klog.NewContext(ctx, logr.Discard())
	for {
		err := listAndWatch(ctx, source, tell)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err):
			return err
		}
	}
}

func listAndWatch(ctx context.Context, source *cache.ListWatch, tell func(Change) error) error {
	list, err := source.ListWithContext(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("listing what to watch: %w", err)
	}
	accessor, err := meta.ListAccessor(list)
	if err != nil {
		return fmt.Errorf("reading a list: %w", err)
	}
	objects, err := meta.ExtractList(list)
	if err != nil {
		return fmt.Errorf("reading a list: %w", err)
	}
	if err := tell(Change{Objects: objects}); err != nil {
		return err
	}
	_, err = watchtools.Until(ctx, accessor.GetResourceVersion(), source, func(event watch.Event) (bool, error) {
		switch event.Type {
		case watch.Added, watch.Modified, watch.Deleted:
			return false, tell(Change{Objects: []runtime.Object{event.Object}, Deleted: event.Type == watch.Deleted})
		case watch.Error:
			return false, fmt.Errorf("watching: %w", apierrors.FromObject(event.Object))
		case watch.Bookmark:
		}
		return false, nil
	})
	return err
}

// ListResource is a resource of a dynamic or metadata client, possibly limited to one namespace.
type ListResource[L runtime.Object] interface {
	List(ctx context.Context, options metav1.ListOptions) (L, error)
	Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error)
}

// ListSelection selects objects. The zero value selects all.
type ListSelection struct {
	// Labels and Fields are selectors; an empty one selects all.
	Labels, Fields string
}

// ListWatch returns the functions that list and watch the selected objects of a resource.
func ListWatch[L runtime.Object](resource ListResource[L], selection ListSelection) *cache.ListWatch {
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			options.LabelSelector, options.FieldSelector = selection.Labels, selection.Fields
			return resource.List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.LabelSelector, options.FieldSelector = selection.Labels, selection.Fields
			return resource.Watch(ctx, options)
		},
	}
}
