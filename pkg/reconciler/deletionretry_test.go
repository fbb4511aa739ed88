// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/testenv"
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
		reason string
		pass   func(ty *typed) (reconciler.Result, error)
	}{
		{"it is deleted with its owner", (*typed).deleted},
		{"others have deleted it", func(ty *typed) (reconciler.Result, error) { return ty.apply(ty.expand(customType)) }},
	} {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			ty := newTyped(t)
			manifests := ty.expand(customType)
			ty.settle(manifests, func(result reconciler.Result) (bool, string) { return result.Done, notices(result.Waits) })
			definition := ty.definition()
			definition.SetFinalizers(append(definition.GetFinalizers(), "example.com/stalled"))
			if err := ty.client.Update(context(t), definition); err != nil {
				t.Fatal(err)
			}
			ty.remove(definition)
			defer func() { ty.patch(ty.definition(), `{"metadata":{"finalizers":null}}`) }()
			ty.until(func() (reconciler.Result, error) { return test.pass(ty) }, "waiting for finalizers: example.com/stalled")
			ty.quiesce()
			if result, err := test.pass(ty); err != nil || result.RequeueAfter > 0 {
				t.Errorf("a deletion that has not failed must not be retried, but the next pass comes in %s, error: %v", result.RequeueAfter, err)
			}

			if err := ty.client.Status().Patch(context(t), ty.definition(), client.RawPatch("application/merge-patch+json", []byte(failed))); err != nil {
				t.Fatal(err)
			}
			passes := 0
			testenv.Eventually(t, func() (bool, string) {
				result, err := test.pass(ty)
				if err != nil {
					return false, err.Error()
				}
				wait := notices(result.Waits)
				if strings.Contains(wait, "could not list instances: storage is (re)initializing") {
					passes++
				}
				return ty.definition().GetAnnotations()[retriedAt] != "", wait
			})
			if passes < 2 {
				t.Errorf("want the API server to have time to retry by itself, but the deletion was retried in pass %d", passes)
			}
		})
	}
}
