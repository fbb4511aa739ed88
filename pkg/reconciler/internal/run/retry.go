// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"

	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/decide"
	"github.com/component-operator/runtime/pkg/types"
)

// retryDeletion makes the API server go on with the deletion of a CustomResourceDefinition if it has failed to delete
// the instances, which happens while it is still opening their storage.
//
// The API server usually retries at once. But the retry may get lost: it begins with an update of the status, which is
// refused if the API server's own cache is behind. Then the API server relies on the event of the newer status, and
// ignores it, because nothing but this status has changed. It looks at all definitions again every five minutes. Any
// other change of the definition makes it go on at once.
func retryDeletion(ctx context.Context, call *Call, item *inventory.Item, s decide.Situation) error {
	if !s.Seen.DeletionFailed || s.Seen.Owner != s.Owner {
		return nil
	}
	retry, wait := call.Memory.Of(types.IDOf(item)).Deletion.Next(s.Seen.UID, call.Server.Clock.Now())
	if wait > 0 {
		call.Report.RequeueAfter(wait)
	}
	if !retry {
		return nil
	}
	return call.Executor.RetryDeletion(ctx, item, s)
}
