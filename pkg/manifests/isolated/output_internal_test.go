// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package isolated

import "testing"

// TestCause is what the Go runtime says first. If memory runs out, it depends on who needed the last of it.
func TestCause(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		reason, output, cause string
		noMemory              bool
	}{
		{"the heap", "noise\nfatal error: runtime: out of memory\n\ngoroutine 1\n", "fatal error: runtime: out of memory", true},
		{
			"a thread", "runtime/cgo: pthread_create failed: Resource temporarily unavailable\nSIGABRT: abort\nruntime: g 0 gp=0x1: unknown pc 0x2\n",
			"runtime/cgo: pthread_create failed: Resource temporarily unavailable", true,
		},
		{"a panic", "panic: ouch\n\ngoroutine 1\n", "panic: ouch", false},
		{"none", "noise\n", "", false},
	} {
		output := &tail{}
		if _, err := output.Write([]byte(tc.output)); err != nil {
			t.Fatal(err)
		}
		if got := output.cause(); got != tc.cause || noMemory.MatchString(got) != tc.noMemory {
			t.Errorf("%s: the cause is %q", tc.reason, got)
		}
	}
}
