// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package concurrent_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/component-operator/runtime/internal/concurrent"
)

func TestPeriod(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		given, end := context.WithCancel(t.Context())
		ctx, done := concurrent.ContextWithGrace(given, time.Minute)
		defer done()
		start := time.Now()
		end()
		<-ctx.Done()
		if lasted := time.Since(start); lasted != time.Minute {
			t.Errorf("the context outlived the given one by %s", lasted)
		}
		ctx, done = concurrent.ContextWithGrace(given, time.Minute)
		start = time.Now()
		done()
		<-ctx.Done()
		if lasted := time.Since(start); lasted != 0 {
			t.Errorf("the context outlived the work by %s", lasted)
		}
	})
}
