// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"testing"
	"time"
)

// The deadline is generous, because a test that waits for it has failed anyway; the pause is short, because all others wait for it.
const (
	eventuallyDeadline = 60 * time.Second
	eventuallyPause    = 20 * time.Millisecond
)

// Eventually asks the condition until it holds, and ends the test if it still does not after a minute. The condition says with its
// second result what is missing; the last such reason is shown.
func Eventually(tb testing.TB, condition func() (bool, string)) {
	tb.Helper()
	deadline := time.Now().Add(eventuallyDeadline)
	for {
		holds, reason := condition()
		if holds {
			return
		}
		if time.Now().After(deadline) {
			tb.Fatalf("still not so after %s: %s", eventuallyDeadline, reason)
		}
		time.Sleep(eventuallyPause)
	}
}
