// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package live

import (
	"context"
	"errors"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// maxRequests is the maximum number of concurrent requests.
const maxRequests = 8

// each calls a function for each element, up to maxRequests concurrently. The first error ends the context of the
// calls, and is returned.
func each[T any](ctx context.Context, elements []T, do func(ctx context.Context, element T) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxRequests)
	for _, element := range elements {
		group.Go(func() error { return do(ctx, element) })
	}
	return group.Wait()
}

// inAll calls a function for each namespace concurrently, until the context ends. The first error ends all calls,
// except if access is denied: that is an error only if it is denied in all namespaces.
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
