// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/reconciler"
)

// TestStalledDeletionOfDefinitionIsRetried has the status that the API server leaves when it loses the retry after a failure, which cannot be provoked. A finalizer of the
// test stands for that of the API server.
func TestStalledDeletionOfDefinitionIsRetried(t *testing.T) {
	t.Parallel()
	const (
		retriedAt = prefix + "/deletion-retried-at"
		failed    = `{"status":{"conditions":[{"type":"Terminating","status":"True","reason":"InstanceDeletionFailed","message":"could not list instances: storage is (re)initializing",` +
			`"lastTransitionTime":"2026-01-01T00:00:00Z"}]}}`
	)
	for _, test := range []struct {
		reason  string
		prepare func(ty *typed)
		pass    func(ty *typed) (reconciler.Result, error)
		retried bool
	}{
		{"it is deleted with its owner", func(*typed) {}, (*typed).deleted, true},
		{"others have deleted it", func(*typed) {}, (*typed).defineType, true},
		{"it belongs to another owner", func(ty *typed) { ty.owner.ID, ty.owner.Inventory = "other", nil }, (*typed).defineType, false},
	} {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			ty := newTyped(t)
			ty.settle(ty.expand(customType), func(result reconciler.Result) (bool, string) { return result.Done, notices(result.Waits) })
			definition := ty.definition()
			definition.SetFinalizers(append(definition.GetFinalizers(), "example.com/stalled"))
			if err := ty.client.Update(context(t), definition); err != nil {
				t.Fatal(err)
			}
			ty.remove(definition)
			ty.awaitChange()
			defer func() { ty.patch(ty.definition(), `{"metadata":{"finalizers":null}}`) }()
			test.prepare(ty)
			pass := func() (reconciler.Result, error) { return test.pass(ty) }
			ty.until(pass, "waiting for finalizers: ")
			ty.quiesce()
			if result, err := pass(); err != nil || test.retried && result.RequeueAfter > 0 {
				t.Errorf("a deletion that has not failed must not be retried, but the next pass comes in %s, error: %v", result.RequeueAfter, err)
			}

			if err := ty.client.Status().Patch(context(t), ty.definition(), client.RawPatch("application/merge-patch+json", []byte(failed))); err != nil {
				t.Fatal(err)
			}
			ty.until(pass, "could not list instances: storage is (re)initializing")
			if !test.retried {
				time.Sleep(time.Second)
				if _, err := pass(); err != nil || ty.definition().GetAnnotations()[retriedAt] != "" {
					t.Errorf("want the definition to be left alone, error: %v, annotations: %v", err, ty.definition().GetAnnotations())
				}
				return
			}
			result, err := pass()
			if err != nil || result.RequeueAfter == 0 || result.RequeueAfter > time.Second || ty.definition().GetAnnotations()[retriedAt] != "" {
				t.Errorf("want the API server to have a second to retry by itself, but the next pass comes in %s, error: %v, annotations: %v", result.RequeueAfter, err, ty.definition().GetAnnotations())
			}
			for ty.definition().GetAnnotations()[retriedAt] == "" {
				time.Sleep(result.RequeueAfter)
				if result, err = pass(); err != nil || result.RequeueAfter == 0 {
					t.Fatalf("want the next pass to be announced until the API server was made to retry, got %s, error: %v", result.RequeueAfter, err)
				}
			}
		})
	}
}

func (ty *typed) defineType() (reconciler.Result, error) { return ty.apply(ty.expand(customType)) }
