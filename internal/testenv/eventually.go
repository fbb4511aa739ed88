// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"context"
	"os"
	"sync"
	"testing"
	"time"
)

// The deadline is generous, because a test that waits for it has failed anyway; the pause is short, because all others wait for it.
const (
	eventuallyDeadline = 60 * time.Second
	eventuallyPause    = 20 * time.Millisecond
)

// patienceVariable replaces the deadline, for those who expect tests to fail.
const patienceVariable = "TEST_PATIENCE"

var patience = sync.OnceValue(func() time.Duration {
	if given, err := time.ParseDuration(os.Getenv(patienceVariable)); err == nil && given > 0 {
		return given
	}
	return eventuallyDeadline
})

// Eventually asks the condition until it holds, and ends the test if it still does not after a minute, or the duration in TEST_PATIENCE. The
// condition says with its second result what is missing; the last such reason is shown.
func Eventually(tb testing.TB, condition func() (bool, string)) {
	tb.Helper()
	deadline := time.Now().Add(patience())
	for {
		holds, reason := condition()
		if holds {
			return
		}
		if time.Now().After(deadline) {
			tb.Fatalf("still not so after %s: %s", patience(), reason)
		}
		time.Sleep(eventuallyPause)
	}
}

// Receive returns what comes through the channel, or the zero value if it is closed, and ends the test if neither happens within a minute, or
// the duration in TEST_PATIENCE; then missing says what was waited for.
func Receive[T any](tb testing.TB, channel <-chan T, missing string) T {
	tb.Helper()
	timer := time.NewTimer(patience())
	defer timer.Stop()
	select {
	case received := <-channel:
		return received
	case <-timer.C:
		tb.Fatalf("still waiting after %s: %s", patience(), missing)
		panic("unreachable")
	}
}

// Context returns the context of the test, except that it ends after a minute, or the duration in TEST_PATIENCE. It is for calls that are expected
// to return by themselves.
func Context(tb testing.TB) context.Context {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), patience())
	tb.Cleanup(cancel)
	return ctx
}
