// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package listwatch

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

// Sink gets what happens to objects. If a function fails, there is an end of it.
type Sink struct {
	// Seen gets all objects there are, and then each that is new or changed; sometimes also one that has not changed. Required.
	Seen func(objects []runtime.Object) error
	// Gone gets each object that is gone. Of those that went while there was no connection it is not told; but then Seen gets once more all that
	// are left. Defaults to nobody.
	Gone func(object runtime.Object) error
}

// Objects passes on all objects and what happens to them until the context ends, which is no error.
func Objects(ctx context.Context, lists cache.ListerWatcherWithContext, sink Sink) error {
	if sink.Gone == nil {
		sink.Gone = func(runtime.Object) error { return nil }
	}
	for ctx.Err() == nil {
		list, err := lists.ListWithContext(ctx, metav1.ListOptions{})
		if err != nil {
			return unlessEnded(ctx, fmt.Errorf("listing what to watch: %w", err))
		}
		accessor, err := meta.ListAccessor(list)
		if err != nil {
			return fmt.Errorf("reading a list: %w", err)
		}
		objects, err := meta.ExtractList(list)
		if err != nil {
			return fmt.Errorf("reading a list: %w", err)
		}
		if err := sink.Seen(objects); err != nil {
			return unlessEnded(ctx, err)
		}
		if err := sink.from(ctx, accessor.GetResourceVersion(), lists); err != nil {
			return unlessEnded(ctx, err)
		}
	}
	return nil
}

// from watches, across connections, until the context ends or the server does not remember the version any more.
func (s Sink) from(ctx context.Context, version string, watcher cache.WatcherWithContext) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	// What the watcher logs, it also returns.
	changes, err := watchtools.NewRetryWatcherWithContext(klog.NewContext(ctx, logr.Discard()), version, watcher)
	if err != nil {
		return fmt.Errorf("starting to watch: %w", err)
	}
	for change := range changes.ResultChan() {
		switch change.Type {
		case watch.Added, watch.Modified:
			if err := s.Seen([]runtime.Object{change.Object}); err != nil {
				return err
			}
		case watch.Deleted:
			if err := s.Gone(change.Object); err != nil {
				return err
			}
		case watch.Error:
			err := apierrors.FromObject(change.Object)
			if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
				return nil
			}
			return fmt.Errorf("watching: %w", err)
		case watch.Bookmark:
		}
	}
	return nil
}

func unlessEnded(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}
