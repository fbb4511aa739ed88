// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package waves

import (
	"context"

	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/calls"
	"github.com/component-operator/runtime/pkg/reconciler/internal/decisions"
	"github.com/component-operator/runtime/pkg/reconciler/internal/memory"
	"github.com/component-operator/runtime/pkg/types"
)

// retryDeletion has the API server go on with the deletion of a CustomResourceDefinition if it has failed to delete the instances, as it does while it opens their storage.
//
// The API server usually retries at once, so the first failure is only noted. But the retry may get lost: it begins with an update of the status, which is refused if the
// API server's own cache is behind. Then the API server relies on the event of the newer status, and ignores it, because nothing but this status has changed. It looks
// at all definitions again every five minutes. Any other change of the definition makes it go on at once.
func retryDeletion(ctx context.Context, call *calls.Call, item *inventory.Item, s decisions.Situation) error {
	if !s.Seen.DeletionFailed {
		return nil
	}
	retries, pacing, now := &call.Memory.Of(types.IDOf(item)).DeletionRetries, memory.DeletionRetryPacing(), call.Server.Clock.Now()
	wait := retries.Wait(now, pacing)
	if wait == 0 {
		if retries.Count > 0 {
			if err := call.Executor.RetryDeletion(ctx, item, s); err != nil {
				return err
			}
		}
		retries.Happened(now)
		wait = retries.Wait(now, pacing)
	}
	call.Report.RequeueAfter(wait)
	return nil
}
