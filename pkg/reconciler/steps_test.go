// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/behaviors"
	"github.com/component-operator/runtime/pkg/reconciler"
)

// TestSteps applies the steps of a wave one after the other in one pass: a step waits for the answers of the one before, not until its objects are ready,
// and overrules the order of kinds. The next wave does wait.
func TestSteps(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	list := objects(w, `
apiVersion: v1
kind: ConfigMap
metadata: {name: second}
---
apiVersion: v1
kind: Service
metadata: {name: first, annotations: {PREFIX/ready-when: "false"}}
spec: {ports: [{port: 80}]}
---
apiVersion: v1
kind: Secret
metadata: {name: third}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: wave, annotations: {PREFIX/apply-order: "1"}}
`)
	list[0], list[2] = behaviors.Attach(list[0], behaviors.AtStep(1)), behaviors.Attach(list[2], behaviors.AtStep(7))
	w.requests.Reset()
	result, err := w.applyObjects(list)
	if err != nil || notices(result.Waits) != "Service first: ready-when does not hold: false" {
		t.Fatal(notices(result.Waits), err)
	}
	if got := w.requested(http.MethodPatch); got != "first second third" {
		t.Errorf("unexpected order: %s", got)
	}
}

// TestRequestsOfSteps counts the requests of many steps: one write for each object, and nothing more, neither then nor in the next pass.
func TestRequestsOfSteps(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const steps, size = 50, 2
	var list []client.Object
	for i, object := range objects(w, configMaps(steps*size, 1)) {
		list = append(list, behaviors.Attach(object, behaviors.AtStep(i/size), behaviors.Guard(func() (string, error) { return "", nil })))
	}
	w.requests.Reset()
	testenv.Eventually(t, func() (bool, string) {
		result, err := w.applyObjects(list)
		if err != nil {
			t.Fatal(err)
		}
		return result.Done, notices(result.Waits)
	})
	if got := len(w.writes()); got != steps*size {
		t.Errorf("expected %d writes, got %d", steps*size, got)
	}
	w.rest(configMaps(steps*size, 1))
	w.requests.Reset()
	if result, err := w.applyObjects(list); err != nil || !result.Done {
		t.Fatal(notices(result.Waits), err)
	}
	if n := w.requests.Count(func(testenv.Request) bool { return true }); n != 0 {
		t.Errorf("expected no requests, got:\n%s", fmt.Sprint(w.requests))
	}
}

// TestBehaviorsThatRefuse: what a guard or a late manifest refuses is an error that no retry cures. The plan says the same.
func TestBehaviorsThatRefuse(t *testing.T) {
	t.Parallel()
	for _, reason := range []string{"a guard", "a late manifest"} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			refuses := true
			refuse := func() error {
				if refuses {
					return &reconciler.RefusedError{Problems: []string{"this cannot work"}}
				}
				return nil
			}
			behavior := map[string]any{
				"a guard":         behaviors.Guard(func() (string, error) { return "", refuse() }),
				"a late manifest": behaviors.Complete(func(*unstructured.Unstructured) error { return refuse() }),
			}[reason]
			w := newWorld(t)
			list := objects(w, configMapsNamed("a", "b"))
			list[1] = behaviors.Attach(list[1], behavior, behaviors.AtStep(1))
			_, err := w.applyObjects(list)
			w.expectRefusal(err, "this cannot work")
			plan, err := w.engine.Plan(t.Context(), reconciler.ApplyRequest{Owner: w.owner, Objects: list, Digest: w.digest}, reconciler.PlanOptions{})
			if err != nil {
				t.Fatal(err)
			}
			refused := func(plan reconciler.Plan) bool {
				return slices.ContainsFunc(plan.Changes, func(c reconciler.Change) bool { return c.Object.Name == "b" && c.Refusal == "this cannot work" })
			}
			if !refused(plan) {
				t.Errorf("the plan says %+v", plan.Changes)
			}
			// The same holds for an object that is there already.
			refuses = false
			w.settleObjects(func() []client.Object { return list }, done)
			refuses = true
			if plan, err = w.engine.Plan(t.Context(), reconciler.ApplyRequest{Owner: w.owner, Objects: list, Digest: w.digest}, reconciler.PlanOptions{}); err != nil || !refused(plan) {
				t.Errorf("the plan says %+v, %v", plan.Changes, err)
			}
			w.mustDelete()
		})
	}
}
