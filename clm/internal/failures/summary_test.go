// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package failures_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/component-operator/runtime/clm/internal/failures"
	"github.com/component-operator/runtime/pkg/reconciler"
)

func TestSummary(t *testing.T) {
	t.Parallel()
	waits := []reconciler.Notice{{Object: &reconciler.InventoryItem{}, Message: "shown in the list"}}
	interrupted, unrecorded := &failures.InterruptedError{Waits: waits}, errors.New("recording the progress: denied")
	for _, test := range []struct {
		reason string
		err    error
		want   string
	}{
		{"the list has the objects", interrupted, "interrupted"},
		{"an error besides is not hidden", errors.Join(interrupted, unrecorded), "interrupted; recording the progress: denied"},
		{"nor is it in a stage", &failures.StageError{Stage: "pre-delete hooks", Cause: errors.Join(interrupted, unrecorded)}, "pre-delete hooks: interrupted; recording the progress: denied"},
		{"nor beside a stage", errors.Join(&failures.StageError{Stage: "pre-delete hooks", Cause: interrupted}, unrecorded), "pre-delete hooks: interrupted; recording the progress: denied"},
		{"one error can be joined, too", errors.Join(nil, &failures.NotReadyError{Timeout: time.Minute, Waits: waits}), "timed out after 1m"},
		{"errors about several objects are on one line", errors.Join(errors.New("a"), errors.New("b\nc")), "a; b; c"},
		{"several causes in one text are none that were joined", fmt.Errorf("both %w and %w", unrecorded, errors.New("x")), "both recording the progress: denied and x"},
	} {
		if got := failures.Summary(test.err); got != test.want {
			t.Errorf("%s: want %q, got %q", test.reason, test.want, got)
		}
	}
}
