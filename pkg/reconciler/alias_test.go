// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"strings"
	"testing"

	"github.com/component-operator/runtime/pkg/reconciler"
)

// Both are the same object: the API server serves Events by two groups.
const (
	coreEvent = `
apiVersion: v1
kind: Event
metadata: {name: a}
involvedObject: {apiVersion: v1, kind: Namespace, name: NS, namespace: NS}
reason: Reason
action: Action
type: Normal
message: text
eventTime: "2026-01-01T00:00:00.000000Z"
reportingComponent: example.com/controller
reportingInstance: one
`
	groupEvent = `
apiVersion: events.k8s.io/v1
kind: Event
metadata: {name: a}
regarding: {apiVersion: v1, kind: Namespace, name: NS, namespace: NS}
reason: Reason
action: Action
type: Normal
note: text
eventTime: "2026-01-01T00:00:00.000000Z"
reportingController: example.com/controller
reportingInstance: one
`
)

func TestMoveToAnotherGroupKeepsTheObject(t *testing.T) {
	t.Parallel()
	for name, options := range map[string][]option{"Observed": nil, "Asked": {withoutObserver}} {
		for policy, manifest := range map[string]string{
			"Delete": coreEvent,
			"Orphan": strings.Replace(coreEvent, "{name: a}", "{name: a, annotations: {PREFIX/delete-policy: orphan}}", 1),
		} {
			t.Run(name+policy, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, options...)
				w.mustApply(manifest)
				uid := w.get("v1", "Event", "a").GetUID()
				result := w.mustApply(groupEvent)
				w.expectActions(result, "Updated Event a")
				live := w.get("events.k8s.io/v1", "Event", "a")
				if live == nil || live.GetUID() != uid {
					t.Fatalf("expected the object to stay, got %v", live)
				}
				if live.GetLabels()[prefix+"/owner-id"] == "" {
					t.Error("expected the object to stay marked")
				}
				w.expectInventory("Event a Ready Current")
				if group := w.owner.Inventory[0].Group; group != "events.k8s.io" {
					t.Errorf("expected the record to be in the new group, got %q", group)
				}
				// And back.
				w.mustApply(manifest)
				if live := w.get("v1", "Event", "a"); live == nil || live.GetUID() != uid {
					t.Fatalf("expected the object to stay, got %v", live)
				}
				w.mustApply("")
			})
		}
	}
}

func TestMoveToAnotherGroupInAPlan(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.mustApply(coreEvent)
	for _, compare := range []bool{false, true} {
		plan, err := w.planner.Plan(t.Context(), reconciler.ApplyRequest{Owner: w.owner, Digest: w.digest, Objects: objects(w, groupEvent)}, reconciler.PlanOptions{Compare: compare})
		if err != nil {
			t.Fatal(err)
		}
		if len(plan.Changes) != 2 || plan.Changes[1].Verb != "" || !strings.Contains(plan.Changes[1].Reason, "is the same object as Event "+w.namespace+"/a of group events.k8s.io, which is kept") {
			t.Errorf("expected that nothing is deleted, got %+v", plan.Changes)
		}
	}
}

// TestOneObjectUnderTwoGroupsIsRefused has two manifests that would overwrite the same object in turn.
func TestOneObjectUnderTwoGroupsIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	// Before the object exists, a plan does not know that it is one: then the first of two requests creates it, and the second may update it.
	planner := w.planner
	w.planner = nil
	for range 3 {
		_, err := w.apply(coreEvent + "---" + groupEvent)
		w.expectRefusal(err, "is the same object as Event NS/a of ", ", which is also declared")
		w.planner = planner
	}
	w.mustApply(groupEvent)
	if w.get("v1", "Event", "a") == nil {
		t.Error("the object was deleted")
	}
	w.expectInventory("Event a Ready Current")
	w.mustDelete()
	if w.get("v1", "Event", "a") != nil {
		t.Error("the object was left behind")
	}
}

// TestBothRecordsOfOneObjectAreDeleted lets the process die between the two halves of a move.
func TestBothRecordsOfOneObjectAreDeleted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.mustApply(coreEvent)
	mortal := newWorld(t, func(s *setup) { s.config = dying(s.config, 2) })
	mortal.owner, mortal.namespace = w.owner, w.namespace
	mortal.owner.Store = w
	_, _ = mortal.engine.Apply(t.Context(), reconciler.ApplyRequest{Owner: mortal.owner, Objects: objects(w, groupEvent), Digest: "d"})
	if len(w.owner.Inventory) != 2 {
		t.Fatalf("expected both to be recorded, got %v", w.inventory())
	}
	w.mustDelete()
	if w.get("v1", "Event", "a") != nil {
		t.Error("the object was left behind")
	}
}
