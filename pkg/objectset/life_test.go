// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package objectset_test

import (
	"testing"

	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/component"
	"github.com/component-operator/runtime/pkg/objectset/v1alpha1"
)

const (
	available    = v1alpha1.ConditionTypeAvailable
	progressing  = v1alpha1.ConditionTypeProgressing
	inTransition = v1alpha1.ConditionTypeInTransition
	succeeded    = v1alpha1.ConditionTypeSucceeded
)

// threePhases has a ConfigMap per phase. Each is available when its data has ready: "yes".
const threePhases = `
metadata: {name: demo}
spec:
  phases:
  - name: first
    objects:
    - object: {apiVersion: v1, kind: ConfigMap, metadata: {name: first}, data: {ready: "yes", value: "1"}}
  - name: second
    objects:
    - object: {apiVersion: v1, kind: ConfigMap, metadata: {name: second}, data: {value: "2"}}
    - object: {apiVersion: v1, kind: Secret, metadata: {name: second}, stringData: {value: "2"}}
  - name: third
    objects:
    - object: {apiVersion: v1, kind: ConfigMap, metadata: {name: third}, data: {ready: "yes"}}
  availabilityProbes:
  - selector: {kind: {group: "", kind: ConfigMap}}
    probes:
    - fieldValue: {field: .data.ready, value: "yes"}
`

// TestLife has a set wait in its second phase, corrects drift in the first meanwhile, is paused, resumed, archived and
// deleted.
func TestLife(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.start()
	set := r.set(threePhases)
	r.create(set)
	r.awaitCondition(set, available, "False/ProbeFailure", `Phase "second": ConfigMap NS/second: .data.ready is missing`)
	r.awaitCondition(set, progressing, "True/RollingOut", "2 of 4 objects in 3 phases are available")
	r.awaitCondition(set, inTransition, "True/RollingOut", "1 of 4 objects are not applied")
	r.expectPhases(set, "first 1 1 1 0", "second 2 2 1 0", "third 1 0 0 0")
	if r.get("v1", "ConfigMap", "third") != nil {
		t.Error("the third phase must not begin before the second is available")
	}

	// What is deleted in the first phase comes back while the second one fails, and drift there is corrected.
	deleted := r.get("v1", "ConfigMap", "first")
	r.delete(deleted)
	testenv.Eventually(t, func() (bool, string) {
		object := r.get("v1", "ConfigMap", "first")
		return object != nil && object.GetUID() != deleted.GetUID(), "the object does not come back"
	})
	r.patch(r.get("v1", "ConfigMap", "first"), `{"data":{"value":"changed"}}`)
	testenv.Eventually(t, func() (bool, string) {
		value, _ := r.get("v1", "ConfigMap", "first").Object["data"].(map[string]any)
		return value["value"] == "1", "drift is not corrected"
	})

	// The set has not written data.ready, so it stays when somebody else sets it.
	r.patch(r.get("v1", "ConfigMap", "second"), `{"data":{"ready":"yes"}}`)
	r.awaitCondition(set, available, "True/Available", "4 of 4 objects in 3 phases are available")
	r.awaitCondition(set, progressing, "False/Idle")
	r.awaitCondition(set, inTransition, "False/Settled")
	r.awaitCondition(set, succeeded, "True/RolloutSuccess")
	r.expectPhases(set, "first 1 1 1 0", "second 2 2 2 0", "third 1 1 1 0")

	// A paused set says what it sees, and writes nothing.
	r.patch(set, `{"spec":{"lifecycleState":"Paused"}}`)
	r.awaitCondition(set, v1alpha1.ConditionTypePaused, "True/Paused", "nothing is held back")
	r.patch(r.get("v1", "ConfigMap", "third"), `{"data":{"ready":"no"}}`)
	r.awaitCondition(set, v1alpha1.ConditionTypePaused, "True/Paused", "1 held back", "ConfigMap NS/third")
	r.awaitCondition(set, available, "False/ProbeFailure", `Phase "third": ConfigMap NS/third: .data.ready is "no", not "yes"`)
	r.awaitCondition(set, progressing, "False/Paused")
	r.expectPhases(set, "first 1 1 1 0", "second 2 2 2 0", "third 1 1 0 0")
	r.delete(r.get("v1", "ConfigMap", "third"))
	r.awaitCondition(set, available, "False/ProbeFailure", `Phase "third": ConfigMap NS/third: does not exist`)
	r.patch(set, `{"spec":{"lifecycleState":"Active"}}`)
	r.awaitCondition(set, available, "True/Available")
	if _, paused := set.GetStatus().GetCondition(v1alpha1.ConditionTypePaused); paused {
		t.Error("the condition Paused must go")
	}

	// Archiving is torn down in reversed order, and waits for finalizers.
	third := r.get("v1", "ConfigMap", "third")
	r.patch(third, `{"metadata":{"finalizers":["test.example.io/hold"]}}`)
	r.patch(set, `{"spec":{"lifecycleState":"Archived"}}`)
	r.awaitCondition(set, v1alpha1.ConditionTypeArchived, "False/ArchivalInProgress", "ConfigMap NS/third", "test.example.io/hold")
	r.awaitCondition(set, available, "False/ArchivalInProgress")
	for _, name := range []string{"first", "second"} {
		if object := r.get("v1", "ConfigMap", name); object == nil || object.GetDeletionTimestamp() != nil {
			t.Errorf("%s must stay until the third phase is gone", name)
		}
	}
	r.patch(third, `{"metadata":{"finalizers":null}}`)
	r.awaitCondition(set, v1alpha1.ConditionTypeArchived, "True/Archived")
	if r.get("v1", "ConfigMap", "first") != nil || r.get("v1", "Secret", "second") != nil {
		t.Error("an archived set must have no objects")
	}
	for _, gone := range []component.ConditionType{available, inTransition} {
		if _, exists := set.GetStatus().GetCondition(gone); exists {
			t.Errorf("an archived set must not have the condition %s", gone)
		}
	}
	r.awaitCondition(set, succeeded, "True/RolloutSuccess")
	r.expectPhases(set, "first 1 0 0 0", "second 2 0 0 0", "third 1 0 0 0")

	// It can be revived.
	r.patch(set, `{"spec":{"lifecycleState":"Active"}}`)
	r.awaitCondition(set, available, "False/ProbeFailure", `Phase "second"`)
	r.delete(set)
	r.awaitGone(set)
	if r.get("v1", "ConfigMap", "first") != nil {
		t.Error("the objects of a deleted set must be gone")
	}
}

// TestHandover lets a second revision adopt objects of the first, which then archives cleanly.
func TestHandover(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.start()
	revision := func(name, revision, value string) *v1alpha1.ObjectSet {
		return r.set(`
metadata: {name: ` + name + `, labels: {core.component-operator.dev/revisions-of: demo}}
spec:
  revision: ` + revision + `
  phases:
  - name: only
    objects:
    - object: {apiVersion: v1, kind: ConfigMap, metadata: {name: shared}, data: {value: "` + value + `"}}
    - object: {apiVersion: v1, kind: ConfigMap, metadata: {name: ` + name + `}}
`)
	}
	first := revision("one", "1", "1")
	r.create(first)
	r.awaitCondition(first, succeeded, "True/RolloutSuccess")
	uid := r.get("v1", "ConfigMap", "shared").GetUID()
	r.patch(r.get("v1", "ConfigMap", "shared"), `{"data":{"extra":"theirs"}}`)
	second := revision("two", "2", "2")
	r.create(second)
	r.awaitCondition(second, succeeded, "True/RolloutSuccess")
	r.awaitCondition(first, inTransition, "True/HandedOver", "1 of 2 objects belong to later revisions: ConfigMap NS/shared")
	r.awaitCondition(first, available, "True/Available")
	r.expectPhases(first, "only 2 1 2 1")
	r.patch(first, `{"spec":{"lifecycleState":"Archived"}}`)
	r.awaitCondition(first, v1alpha1.ConditionTypeArchived, "True/Archived")
	shared := r.get("v1", "ConfigMap", "shared")
	if shared == nil || shared.GetUID() != uid {
		t.Fatalf("the shared object must stay, got %v", shared)
	}
	if r.data("shared", "value") != "2" || r.data("shared", "extra") != "theirs" {
		t.Errorf("the next revision must leave alone what others have written, got %v", shared.Object["data"])
	}
	if r.get("v1", "ConfigMap", "one") != nil {
		t.Error("what only the first revision has must go")
	}
	r.delete(second)
	r.awaitGone(second)
	r.delete(first)
	r.awaitGone(first)
}
