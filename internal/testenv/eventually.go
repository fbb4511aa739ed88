// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"os"
	"testing"
	"time"
)

// The deadline is generous, because a test that waits for it has failed anyway; the pause is short, because all others
// wait for it.
const (
	eventuallyDeadline = 60 * time.Second
	eventuallyPause    = 20 * time.Millisecond
)

// patienceVariable replaces the deadline, for those who expect tests to fail.
const patienceVariable = "TEST_PATIENCE"

// Patience is how long a test waits before it gives up: a minute, or the duration in TEST_PATIENCE.
func Patience() time.Duration {
	if given, err := time.ParseDuration(os.Getenv(patienceVariable)); err == nil && given > 0 {
		return given
	}
	return eventuallyDeadline
}

// Eventually asks the condition until it holds, and ends the test if it still does not after a minute, or the duration
// in TEST_PATIENCE. The condition says with its second result what is missing; the last such reason is shown.
func Eventually(tb testing.TB, condition func() (bool, string)) {
	tb.Helper()
	patience := Patience()
	deadline := time.Now().Add(patience)
	for {
		holds, reason := condition()
		if holds {
			return
		}
		if time.Now().After(deadline) {
			tb.Fatalf("still not so after %s: %s", patience, reason)
		}
		time.Sleep(eventuallyPause)
	}
}

// Receive returns what comes through the channel, or the zero value if it is closed, and ends the test if neither
// happens within a minute, or the duration in TEST_PATIENCE; then awaited says what for.
func Receive[T any](tb testing.TB, channel <-chan T, awaited string) T {
	tb.Helper()
	timer := time.NewTimer(Patience())
	defer timer.Stop()
	select {
	case received := <-channel:
		return received
	case <-timer.C:
		tb.Fatalf("still not so after %s: %s", Patience(), awaited)
		panic("unreachable")
	}
}

// Within calls a function that is expected to return, and returns its error. It ends the test like Receive if the
// function does not return; then the function goes on.
func Within(tb testing.TB, call func() error) error {
	tb.Helper()
	returned := make(chan error, 1)
	go func() { returned <- call() }()
	return Receive(tb, returned, "the call returns")
}
