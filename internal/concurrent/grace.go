// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package concurrent

import (
	"context"
	"time"
)

// ContextWithGrace returns a context that outlives the given one by a period. The caller calls the function when the
// work is done.
func ContextWithGrace(ctx context.Context, period time.Duration) (context.Context, context.CancelFunc) {
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
