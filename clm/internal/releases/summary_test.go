// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package releases_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/pkg/reconciler"
)

func TestSummary(t *testing.T) {
	t.Parallel()
	waits := []reconciler.Notice{{Object: &reconciler.InventoryItem{}, Message: "shown in the list"}}
	interrupted, unrecorded := &releases.InterruptedError{Waits: waits}, errors.New("recording the progress: denied")
	for _, test := range []struct {
		reason string
		err    error
		want   string
	}{
		{"the list has the objects", interrupted, "interrupted"},
		{"an error besides is not hidden", errors.Join(interrupted, unrecorded), "interrupted; recording the progress: denied"},
		{"nor is it in a stage", &releases.StageError{Stage: "pre-delete hooks", Cause: errors.Join(interrupted, unrecorded)}, "pre-delete hooks: interrupted; recording the progress: denied"},
		{"nor beside a stage", errors.Join(&releases.StageError{Stage: "pre-delete hooks", Cause: interrupted}, unrecorded), "pre-delete hooks: interrupted; recording the progress: denied"},
		{"one error can be joined, too", errors.Join(nil, &releases.NotReadyError{Timeout: time.Minute, Waits: waits}), "timed out after 1m"},
		{"errors about several objects are on one line", errors.Join(errors.New("a"), errors.New("b\nc")), "a; b; c"},
		{"several causes in one text are none that were joined", fmt.Errorf("both %w and %w", unrecorded, errors.New("x")), "both recording the progress: denied and x"},
	} {
		if got := releases.Summary(test.err); got != test.want {
			t.Errorf("%s: want %q, got %q", test.reason, test.want, got)
		}
	}
}

func TestNext(t *testing.T) {
	t.Parallel()
	unrecorded := errors.New("recording the progress: denied")
	for _, test := range []struct {
		reason string
		err    error
		want   string
	}{
		{"the caller has ended it", &releases.InterruptedError{}, "Nothing is lost: to continue, run the same command again."},
		{"and it could not be recorded", errors.Join(&releases.InterruptedError{}, unrecorded), "To continue, run the same command again."},
		{
			"a newer operation has ended it, and it could not be recorded", errors.Join(&releases.InterruptedError{CanceledBy: "apply"}, unrecorded),
			"Running the same command again would undo what the newer operation does.",
		},
		{
			"objects have failed", &releases.NotReadyError{},
			"Failed objects will not become ready on their own. To see why they failed: clm status web -n shop",
		},
	} {
		if got := releases.Next(test.err, &releases.Release{Namespace: "shop", Name: "web"}); got != test.want {
			t.Errorf("%s: want %q, got %q", test.reason, test.want, got)
		}
	}
}
