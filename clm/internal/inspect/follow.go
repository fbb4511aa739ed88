// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

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

// follow passes on all objects, and then each that is new or changed, until the context ends, which is no error. Objects that are gone are
// not reported. It may report an object again that has not changed.
func follow(ctx context.Context, lists cache.ListerWatcherWithContext, handle func(objects []runtime.Object) error) error {
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
		if err := handle(objects); err != nil {
			return unlessEnded(ctx, err)
		}
		if err := followFrom(ctx, accessor.GetResourceVersion(), lists, handle); err != nil {
			return unlessEnded(ctx, err)
		}
	}
	return nil
}

// followFrom watches, across connections, until the context ends or the server does not remember the version any more.
func followFrom(ctx context.Context, version string, watcher cache.WatcherWithContext, handle func(objects []runtime.Object) error) error {
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
			if err := handle([]runtime.Object{change.Object}); err != nil {
				return err
			}
		case watch.Error:
			err := apierrors.FromObject(change.Object)
			if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
				return nil
			}
			return fmt.Errorf("watching: %w", err)
		case watch.Deleted, watch.Bookmark:
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

// inAll runs something side by side for each namespace, until the context ends. The first error ends all, with the exception of denials:
// they are an error only if there is no namespace without one.
func inAll(ctx context.Context, namespaces []string, run func(ctx context.Context, namespace string) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	failures := make([]error, len(namespaces))
	var wg sync.WaitGroup
	for i, namespace := range namespaces {
		wg.Go(func() {
			if failures[i] = run(ctx, namespace); failures[i] != nil && !apierrors.IsForbidden(failures[i]) {
				cancel()
			}
		})
	}
	wg.Wait()
	if len(failures) > 0 && !slices.ContainsFunc(failures, func(err error) bool { return !apierrors.IsForbidden(err) }) {
		return failures[0]
	}
	return errors.Join(slices.DeleteFunc(failures, func(err error) bool { return apierrors.IsForbidden(err) })...)
}
