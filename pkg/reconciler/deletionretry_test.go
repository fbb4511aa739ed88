// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"bytes"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/reconciler"
)

// TestStalledDeletionOfDefinitionIsRetried has the status that the API server leaves when it loses the retry after a failure, which cannot be provoked. A finalizer of the
// test stands for that of the API server.
func TestStalledDeletionOfDefinitionIsRetried(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		reason          string
		option          option
		pass            func(ty *typed) (reconciler.Result, error)
		isOurs, retried bool
	}{
		{"it is deleted with its owner", nil, (*typed).deleted, true, true},
		{"others have deleted it", nil, (*typed).defineType, true, true},
		{"the API server refuses that", refusingRetries, (*typed).deleted, true, false},
		{"it belongs to another owner", nil, (*typed).defineTypeElsewhere, false, false},
	} {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			now := clocktesting.NewFakePassiveClock(time.Now())
			ty := newStalled(t, now, test.option)
			pass := func() (reconciler.Result, error) { return test.pass(ty) }
			ty.until(pass, "waiting for finalizers: example.com/stalled")
			ty.quiesce()
			if result, err := pass(); err != nil || test.isOurs && result.RequeueAfter != 0 {
				t.Errorf("a deletion that has not failed must not be retried, but the next pass comes in %s, error: %v", result.RequeueAfter, err)
			}

			ty.fail()
			ty.until(pass, "could not list instances: storage is (re)initializing")
			if result, err := pass(); err != nil || test.isOurs && result.RequeueAfter != time.Second || ty.retriedAt() != "" {
				t.Errorf("want the API server to have a second to retry by itself, but the next pass comes in %s, error: %v, retried at %q", result.RequeueAfter, err, ty.retriedAt())
			}
			now.SetTime(now.Now().Add(time.Second))
			result, err := pass()
			retried := ty.retriedAt()
			if err != nil || test.isOurs && result.RequeueAfter != 2*time.Second || (retried != "") != test.retried {
				t.Errorf("want a retry: %t, and twice the interval, but the next pass comes in %s, error: %v, retried at %q", test.retried, result.RequeueAfter, err, retried)
			}
			version := ty.definition().GetResourceVersion()
			if _, err := pass(); err != nil || ty.definition().GetResourceVersion() != version {
				t.Errorf("want no other retry within the interval, error: %v", err)
			}
		})
	}
}

// TestFailedDeletionIsSeenInAnAnswer has an answer to the reconciler be the first to show the failure: no event follows.
func TestFailedDeletionIsSeenInAnAnswer(t *testing.T) {
	t.Parallel()
	ty := newStalled(t, clocktesting.NewFakePassiveClock(time.Now()), nil)
	ty.fail()
	ty.quiesce()
	if !slices.Contains(ty.definition().GetFinalizers(), prefix) {
		t.Fatal("the definition does not have our finalizer, which the pass is to remove")
	}
	if result, err := ty.deleted(); err != nil || result.RequeueAfter != time.Second {
		t.Errorf("want another pass in a second, got %s, error: %v", result.RequeueAfter, err)
	}
}

// newStalled has a definition that others have deleted, and for which the API server has done what it does.
func newStalled(t *testing.T, now *clocktesting.FakePassiveClock, more option) *typed {
	t.Helper()
	options := []option{withOptions(func(o *reconciler.Options) { o.Clock = now })}
	if more != nil {
		options = append(options, more)
	}
	ty := newTyped(t, options...)
	ty.defined(ty.expand(customType))
	definition := ty.definition()
	definition.SetFinalizers(append(definition.GetFinalizers(), "example.com/stalled"))
	if err := ty.client.Update(context(t), definition); err != nil {
		t.Fatal(err)
	}
	ty.remove(definition)
	ty.awaitChange()
	testenv.Eventually(t, func() (bool, string) {
		finalizers := ty.definition().GetFinalizers()
		return !slices.Contains(finalizers, "customresourcecleanup.apiextensions.k8s.io"), strings.Join(finalizers, " ")
	})
	return ty
}

// fail sets the status that the API server sets when it cannot delete the instances.
func (ty *typed) fail() {
	ty.Helper()
	definition := ty.definition()
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"status":{"conditions":[{"type":"Terminating","status":"True","reason":"InstanceDeletionFailed",`+
		`"message":"could not list instances: storage is (re)initializing","lastTransitionTime":"2026-01-01T00:00:00Z"}]}}`))
	if err := ty.client.Status().Patch(context(ty.TB), definition, patch); err != nil {
		ty.Fatal(err)
	}
	ty.noteChange(definition, false)
}

func (ty *typed) retriedAt() string {
	return ty.definition().GetAnnotations()[prefix+"/deletion-retried-at"]
}

func (ty *typed) defineType() (reconciler.Result, error) { return ty.apply(ty.expand(customType)) }

// defineTypeElsewhere is defineType for another owner.
func (ty *typed) defineTypeElsewhere() (reconciler.Result, error) {
	owner := ty.owner
	owner.ID, owner.Inventory = "other", nil
	return ty.engine.Apply(ty.Context(), reconciler.ApplyRequest{Owner: owner, Objects: objects(ty.world, ty.expand(customType))})
}

// refusingRetries has the API server refuse the annotation, as a policy may do.
func refusingRetries(s *setup) {
	answeringWhere(func(request *http.Request) bool {
		if request.Method != http.MethodPatch {
			return false
		}
		body, err := request.GetBody()
		if err != nil {
			return false
		}
		text, _ := io.ReadAll(body)
		return bytes.Contains(text, []byte("/deletion-retried-at"))
	}, http.StatusUnprocessableEntity, metav1.StatusReasonInvalid)(s)
}
