// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package live

import (
	"context"
	"errors"
	"slices"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// maxRequests is the maximum number of concurrent requests.
const maxRequests = 8

// each calls a function for each element, up to maxRequests concurrently. After an error it starts no further calls. It returns all errors, or else
// that of the context.
func each[T any](ctx context.Context, elements []T, do func(ctx context.Context, element T) error) error {
	var (
		wg       sync.WaitGroup
		mu       sync.Mutex
		failures []error
	)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	slots := make(chan struct{}, maxRequests)
	for _, element := range elements {
		slots <- struct{}{}
		if ctx.Err() != nil {
			break
		}
		wg.Go(func() {
			defer func() { <-slots }()
			if err := do(ctx, element); err != nil {
				mu.Lock()
				defer mu.Unlock()
				// Errors that only follow from another error are not returned.
				if len(failures) == 0 || !errors.Is(err, context.Canceled) {
					failures = append(failures, err)
				}
				cancel()
			}
		})
	}
	wg.Wait()
	if len(failures) > 0 {
		return errors.Join(failures...)
	}
	return ctx.Err()
}

// inAll calls a function for each namespace concurrently, until the context ends. The first error ends all calls, except if access is denied: that is
// an error only if it is denied in all namespaces.
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
