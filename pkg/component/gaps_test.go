// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"strings"
	"testing"

	"github.com/component-operator/runtime/pkg/component/internal/outcomes"
)

// TestEachStepIsRescued has a panic after the steps.
func TestEachStepIsRescued(t *testing.T) {
	t.Parallel()
	o := (&pass{worker: &worker{}}).rescued(func() outcomes.Outcome { panic("a mistake") })
	if o.Kind != outcomes.Error || !strings.HasPrefix(o.Message, "panic: a mistake (component/gaps_test.go:") {
		t.Errorf("unexpected outcome: %+v", o)
	}
}
