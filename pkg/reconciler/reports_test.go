// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"net/http"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/status"
)

func awaitingReports(o *reconciler.Options) { o.AwaitReports = true }

// withConditions is a definition that declares conditions, an instance of it, and a ConfigMap in a later wave.
func withConditions(ty *typed) string {
	definition := strings.ReplaceAll(customType, "schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}", `subresources: {status: {}}
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true, properties: {status: {type: object, properties: {
      conditions: {type: array, items: {type: object, x-kubernetes-preserve-unknown-fields: true}}}}}}}`)
	return ty.expand(definition + "---" + strings.ReplaceAll(widget, "NAME", "own") +
		"---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: after, annotations: {PREFIX/apply-order: \"1\"}}\n")
}

// TestAwaitReports: an instance is not ready before its controller has reported a condition, also for the next process. The definition comes in the same set, and is
// read once.
func TestAwaitReports(t *testing.T) {
	t.Parallel()
	ty := newTyped(t, withOptions(awaitingReports))
	manifests := withConditions(ty)
	const waits = "Widget own: its controller has not reported any condition yet"
	ty.settle(manifests, waitsFor(waits))
	heir := ty.heir(withOptions(awaitingReports))
	heir.settle(manifests, waitsFor(waits))
	if ty.configMap("after") != nil {
		t.Error("the next wave has begun")
	}
	reads := heir.requests.Count(func(r testenv.Request) bool {
		return r.Method == http.MethodGet && strings.HasSuffix(r.Path, "/customresourcedefinitions/widgets."+ty.group)
	})
	if reads != 1 {
		t.Errorf("want one read of the definition, got %d of %v", reads, heir.requests)
	}
	ty.report(`{"status":{"conditions":[{"type":"Synced","status":"True"}]}}`)
	heir.settle(manifests, done)
	if ty.configMap("after") == nil {
		t.Error("the next wave has not begun")
	}
}

// report writes the status of the instance as its controller does.
func (ty *typed) report(patch string) {
	ty.Helper()
	if err := ty.client.Status().Patch(ty.Context(), ty.widget("own"), client.RawPatch("application/merge-patch+json", []byte(patch))); err != nil {
		ty.Fatal(err)
	}
}

// TestReportsAreNotAwaited by default, by a judge of the owner, and for an object that says when it is ready.
func TestReportsAreNotAwaited(t *testing.T) {
	t.Parallel()
	t.Run("default", func(t *testing.T) {
		t.Parallel()
		ty := newTyped(t)
		ty.mustApply(withConditions(ty))
	})
	t.Run("judge", func(t *testing.T) {
		t.Parallel()
		ty := newTyped(t, withOptions(awaitingReports))
		ty.judge = status.NewAnalyzer(prefix, status.Options{})
		ty.mustApply(withConditions(ty))
	})
	t.Run("ready-when", func(t *testing.T) {
		t.Parallel()
		ty := newTyped(t, withOptions(awaitingReports))
		ty.mustApply(strings.Replace(withConditions(ty), "{name: own}", "{name: own, annotations: {"+prefix+"/ready-when: 'true'}}", 1))
	})
}

// TestDefaultedConditions: conditions that come from defaults of the definition, as those of Gateways, are no report.
func TestDefaultedConditions(t *testing.T) {
	t.Parallel()
	ty := newTyped(t, withOptions(awaitingReports))
	manifests := strings.Replace(withConditions(ty), "status: {type: object,", `status: {type: object, default: {conditions: [{type: Accepted, status: Unknown, reason: Pending, message: Waiting for controller}]},`, 1)
	ty.settle(manifests, waitsFor("Widget own: its controller has not reported any condition yet"))
}

// TestDefinitionCannotBeReadNow: while the definition cannot be read, nothing is known, and instances must not count as ready.
func TestDefinitionCannotBeReadNow(t *testing.T) {
	t.Parallel()
	ty := newTyped(t, withOptions(awaitingReports))
	manifests := withConditions(ty)
	const waits = "Widget own: its controller has not reported any condition yet"
	ty.settle(manifests, waitsFor(waits))
	heir := ty.heir(withOptions(awaitingReports), refusingSome(500, func(r *http.Request) bool {
		return r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/customresourcedefinitions/widgets."+ty.group)
	}))
	if result, err := heir.apply(manifests); err == nil && result.Done {
		t.Error("ready, although nobody knows what the definition declares")
	}
}

// TestDefinitionLosesConditions: a definition that does not declare conditions any more has nothing awaited.
func TestDefinitionLosesConditions(t *testing.T) {
	t.Parallel()
	ty := newTyped(t, withOptions(awaitingReports))
	ty.settle(withConditions(ty), waitsFor("Widget own: its controller has not reported any condition yet"))
	ty.settle(ty.expand(customType+"---"+strings.ReplaceAll(widget, "NAME", "own")), done)
}
