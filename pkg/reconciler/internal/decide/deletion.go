// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"time"

	apitypes "k8s.io/apimachinery/pkg/types"
)

// maxDeletionRetries is how often the API server is made to retry. By then, the interval is about that at which it
// retries by itself, and the failure does not go away.
const maxDeletionRetries = 8

// FailedDeletion counts the failures of the API server to delete one object, and spaces out the retries that it is made
// to do.
type FailedDeletion struct {
	uid      apitypes.UID
	failures int
	next     time.Time // when the next failure counts
}

// Next reports whether the API server is to be made to retry now, and how long to wait before Next is called again;
// zero if that is not needed. The first failure is only noted, because the API server usually retries at once. The
// intervals begin with a second, and double.
func (f *FailedDeletion) Next(uid apitypes.UID, now time.Time) (retry bool, wait time.Duration) {
	if f.uid != uid {
		*f = FailedDeletion{uid: uid}
	}
	if f.failures > maxDeletionRetries {
		return false, 0
	}
	if wait = f.next.Sub(now); wait > 0 {
		return false, wait
	}
	f.failures++
	if f.failures > maxDeletionRetries {
		return true, 0
	}
	wait = time.Second << (f.failures - 1)
	f.next = now.Add(wait)
	return f.failures > 1, wait
}
