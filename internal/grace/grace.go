// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package grace lets work that is under way come to its end after its context has ended.
package grace

import (
	"context"
	"time"
)

// Period returns a context that outlives the given one by a period. The caller calls the function when the work is done.
func Period(ctx context.Context, period time.Duration) (context.Context, context.CancelFunc) {
	result, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		timer := time.NewTimer(period)
		defer timer.Stop()
		select {
		case <-timer.C:
			cancel()
		case <-result.Done():
		}
	})
	return result, func() {
		stop()
		cancel()
	}
}
