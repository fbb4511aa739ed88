// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package operatortest_test

import (
	"strings"
	"testing"

	"github.com/component-operator/runtime/pkg/operatortest"
)

// TestRoundTrip converts clocks between minutes and seconds: whole minutes survive, seconds do not.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	recorded := record(t, func(tb testing.TB) {
		tb.Helper()
		operatortest.RoundTrip(tb, &oldClock{}, &clock{})
	})
	wants := []string{"*operatortest_test.clock is not the same after a conversion to *operatortest_test.oldClock and back", `"seconds": `}
	for _, want := range wants {
		if !strings.Contains(recorded, want) {
			t.Errorf("want a message with %q, got:\n%s", want, recorded)
		}
	}
	if strings.Contains(recorded, "oldClock is not the same") {
		t.Errorf("want no message about minutes, got:\n%s", recorded)
	}
}
