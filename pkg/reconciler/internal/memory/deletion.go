// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"math"
	"time"

	apitypes "k8s.io/apimachinery/pkg/types"
)

// maxDeletionRetries is how often the API server is made to retry. By then, the interval is about that at which it retries by itself, and the failure does not go away.
const maxDeletionRetries = 8

// FailedDeletion counts the failures of the API server to delete one object, and spaces out the retries that it is made to do.
type FailedDeletion struct {
	uid      apitypes.UID
	failures Repetition
}

// Next reports whether the API server is to be made to retry now, and how long to wait before Next is called again; zero if that is not needed. The first failure is only noted,
// because the API server usually retries at once.
func (f *FailedDeletion) Next(uid apitypes.UID, now time.Time) (retry bool, wait time.Duration) {
	if f.uid != uid {
		*f = FailedDeletion{uid: uid}
	}
	if f.failures.Count > maxDeletionRetries {
		return false, 0
	}
	// The step is half of the first interval, because the failure that is noted counts. It never starts over.
	pacing := Pacing{Step: 500 * time.Millisecond, limit: 5 * time.Minute, calm: math.MaxInt64}
	if wait = f.failures.Wait(now, pacing); wait > 0 {
		return false, wait
	}
	retry = f.failures.Count > 0
	f.failures.Happened(now)
	if f.failures.Count > maxDeletionRetries {
		return retry, 0
	}
	return retry, f.failures.delay(pacing)
}
