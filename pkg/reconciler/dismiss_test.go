// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"strings"
	"testing"

	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/sandbox"
)

// TestPurgeOnFailure has a Job fail and be deleted. It runs again when its manifest changes, not before.
func TestPurgeOnFailure(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	manifests := expand(jobs, "JOB", "PREFIX/update-policy: recreate, PREFIX/purge-on-failure: \"true\", "+sandbox.AnnotationFail+`: "true"`)
	failed := func(result reconciler.Result) (bool, string) { return len(result.Failures) > 0, notices(result.Waits) }
	apply := func(manifests string) reconciler.Result {
		result, err := w.apply(manifests)
		if err != nil {
			t.Fatal(err)
		}
		return result
	}
	result := w.settle(manifests, failed)
	if len(result.Failures) != 1 || !strings.HasPrefix(result.Failures[0].Message, "failed (BackoffLimitExceeded)") {
		t.Errorf("want the reason of the failure, got %v", result.Failures)
	}
	w.settle(manifests, func(result reconciler.Result) (bool, string) {
		return w.get("batch/v1", "Job", "migrate") == nil, "the Job is not gone"
	})
	result = apply(manifests)
	w.expectInventory("Job migrate Failed Failed", "ConfigMap after ScheduledForApplication InProgress")
	if got := notices(result.Failures); !strings.Contains(got, "failed, and was deleted") || result.Done {
		t.Errorf("want the failure to stay, got %s", got)
	}
	w.requests.Reset()
	w.expectActions(apply(manifests))
	if requests := w.requests.All(); len(requests) > 0 {
		t.Errorf("want no requests about what has failed, got %s", w.requests)
	}

	changed := expand(jobs, "JOB", `PREFIX/update-policy: recreate, PREFIX/purge-on-failure: "true"`, "TAG", "2")
	w.settle(changed, func(result reconciler.Result) (bool, string) { return result.Done, notices(result.Waits) })
	w.expectInventory("Job migrate Completed ", "ConfigMap after Ready Current")
	w.mustDelete()
}

// TestDeathWhileDismissing ends the process between recording that an object has failed and deleting the object.
func TestDeathWhileDismissing(t *testing.T) {
	t.Parallel()
	manifests := expand(jobs, "JOB", "PREFIX/purge-on-failure: \"true\", "+sandbox.AnnotationFail+`: "true"`)
	w := newWorld(t, func(s *setup) { s.config = dying(s.config, 1) })
	var err error
	testenv.Eventually(t, func() (bool, string) {
		_, err = w.apply(manifests)
		return err != nil, "the Job does not fail"
	})
	w.expectInventory("Job migrate Failed Failed", "ConfigMap after ScheduledForApplication InProgress")
	if w.get("batch/v1", "Job", "migrate") == nil {
		t.Fatalf("want the Job to be there yet, after %v", err)
	}
	heir := newWorld(t)
	heir.owner, heir.namespace = w.owner, w.namespace
	heir.owner.Store = heir
	heir.settle(manifests, func(result reconciler.Result) (bool, string) {
		return heir.get("batch/v1", "Job", "migrate") == nil, "the Job is not deleted: " + notices(result.Failures)
	})
}
