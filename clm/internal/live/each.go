// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package live

import (
	"context"

	"golang.org/x/sync/errgroup"
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
