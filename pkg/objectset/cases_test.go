// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package objectset_test

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/component-operator/runtime/pkg/objectset"
	"github.com/component-operator/runtime/pkg/objectset/v1alpha1"
)

// configMaps returns a set with one ConfigMap in each phase: names are those of phases and ConfigMaps.
func (r *rig) configMaps(name, more string, phases ...string) *v1alpha1.ObjectSet {
	r.tb.Helper()
	document := "metadata: {name: " + name + ", labels: {core.component-operator.dev/revisions-of: SERIES}}\nspec:\n  phases:\n"
	for _, phase := range phases {
		document += fmt.Sprintf("  - {name: %s, objects: [{object: {apiVersion: v1, kind: ConfigMap, metadata: {name: %s}, data: {set: %s}}}]}\n", phase, phase, name)
	}
	series, more, _ := strings.Cut(more, ";")
	if series == "" {
		series = name
	}
	return r.set(strings.ReplaceAll(document, "SERIES", series) + more)
}

// TestForeignFields stay. What marks an object as one of the set is restored, unless it says that another owner has it.
func TestForeignFields(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.start()
	set := r.configMaps("demo", "", "a")
	r.create(set)
	r.awaitCondition(set, succeeded, "True/RolloutSuccess")
	r.patch(r.get("v1", "ConfigMap", "a"), `{"data":{"extra":"theirs"},"metadata":{"labels":{"theirs":"yes"}}}`)
	object := r.get("v1", "ConfigMap", "a")
	r.quiesce()
	if now := r.get("v1", "ConfigMap", "a"); now.GetResourceVersion() != object.GetResourceVersion() {
		t.Errorf("a foreign field has changed the object again: %v", now.Object)
	}
	prefix := r.name + "." + objectset.ObjectSetReconcilerName
	id, digest := object.GetLabels()[prefix+"/owner-id"], object.GetAnnotations()[prefix+"/digest"]
	tamper := func(patch string) { r.patch(object, strings.ReplaceAll(patch, "PREFIX", prefix)) }
	restored := func() bool {
		object = r.get("v1", "ConfigMap", "a")
		return object.GetLabels()[prefix+"/owner-id"] == id && object.GetAnnotations()[prefix+"/digest"] == digest
	}
	tamper(`{"metadata":{"annotations":{"PREFIX/digest":"tampered"}}}`)
	r.eventually("the digest is restored", restored)
	tamper(`{"metadata":{"labels":{"PREFIX/owner-id":null}}}`)
	r.eventually("the label is restored", restored)
	tamper(`{"metadata":{"labels":{"PREFIX/owner-id":"another"}}}`)
	r.awaitCondition(set, available, "False/CollisionDetected", "ConfigMap NS/a", "has another owner")
	tamper(`{"metadata":{"labels":{"PREFIX/owner-id":null}}}`)
	r.eventually("the label is restored", restored)
	r.awaitCondition(set, available, "True/Available")
	if data, _ := object.Object["data"].(map[string]any); data["extra"] != "theirs" || object.GetLabels()["theirs"] != "yes" {
		t.Errorf("foreign fields are gone: %v", object.Object)
	}
}

// TestPausedFromTheBeginning: a set that is created paused says what it would create, change and adopt, and writes
// nothing.
func TestPausedFromTheBeginning(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.start()
	r.create(newUnstructured(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: theirs, namespace: "+r.namespace+"}, data: {set: theirs}}"))
	set := r.configMaps("demo", ";  lifecycleState: Paused\n  collisionProtection: IfNoController\n", "theirs", "new")
	r.create(set)
	r.awaitCondition(set, v1alpha1.ConditionTypePaused, "True/Paused", "2 held back", "ConfigMap NS/theirs: would be adopted", "ConfigMap NS/new: would be created")
	r.awaitCondition(set, available, "False/ProbeFailure", `Phase "new": ConfigMap NS/new: does not exist`)
	careful := r.configMaps("careful", ";  lifecycleState: Paused\n", "theirs")
	r.create(careful)
	r.awaitCondition(careful, v1alpha1.ConditionTypePaused, "True/Paused", "ConfigMap NS/theirs: would be refused: already exists and has no owner")
	r.awaitCondition(careful, available, "False/CollisionDetected", `Phase "theirs": ConfigMap NS/theirs: already exists and has no owner`)
	r.expectPhases(careful, "theirs 1 0 0 0")
	if r.data("new", "") != "-" || r.data("theirs", "set") != "theirs" {
		t.Error("a paused set has written something")
	}
	r.delete(set)
	r.awaitGone(set)
	if r.data("theirs", "set") != "theirs" {
		t.Error("what a paused set has not adopted must stay")
	}
}

// TestMovedObject: an object changes its phase from one revision to the next.
func TestMovedObject(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.start()
	first := r.configMaps("first", "demo;  revision: 1\n", "a", "b", "c")
	r.create(first)
	r.awaitCondition(first, succeeded, "True/RolloutSuccess")
	uid := r.get("v1", "ConfigMap", "c").GetUID()
	second := r.configMaps("second", "demo;  revision: 2\n  previous: [{name: unknown}]\n", "c", "new", "a")
	r.create(second)
	r.awaitCondition(second, succeeded, "True/RolloutSuccess")
	r.expectPhases(second, "c 1 1 1 0", "new 1 1 1 0", "a 1 1 1 0")
	r.awaitCondition(first, inTransition, "True/HandedOver", "2 of 3 objects belong to later revisions: ConfigMap NS/a, ConfigMap NS/c")
	r.awaitCondition(first, available, "True/Available")
	r.expectPhases(first, "a 1 0 1 1", "b 1 1 1 0", "c 1 0 1 1")
	r.patch(first, `{"spec":{"lifecycleState":"Archived"}}`)
	r.awaitCondition(first, v1alpha1.ConditionTypeArchived, "True/Archived")
	if r.data("b", "") != "-" || r.get("v1", "ConfigMap", "c").GetUID() != uid || r.data("c", "set") != "second" {
		t.Error("archiving must delete what the later revision does not have, and nothing else")
	}
}

// TestTeardownOfWhatIsGone: a type that does not exist any more, and objects that others have deleted, hold up nothing.
func TestTeardownOfWhatIsGone(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	definition := newUnstructured(t, strings.ReplaceAll(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.NAME.example.io}
spec:
  group: NAME.example.io
  scope: Namespaced
  names: {plural: things, singular: thing, kind: Thing, listKind: ThingList}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
`, "NAME", r.name))
	r.create(definition)
	r.eventually("the type is served", func() bool {
		r.read(definition)
		return conditionOf(definition, "Established") == "True"
	})
	r.start()
	set := r.set(strings.ReplaceAll(`
metadata: {name: demo}
spec:
  phases:
  - {name: a, objects: [{object: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}}]}
  - {name: b, objects: [{object: {apiVersion: NAME.example.io/v1, kind: Thing, metadata: {name: b}}}]}
`, "NAME", r.name))
	r.create(set)
	r.awaitCondition(set, succeeded, "True/RolloutSuccess")
	r.delete(definition)
	r.awaitGone(definition)
	r.delete(set)
	r.awaitGone(set)
	if r.data("a", "") != "-" {
		t.Error("the first phase is left")
	}
}

// largeSet has objects in ten phases.
func (r *rig) largeSet(objects int) *v1alpha1.ObjectSet {
	set := r.set("metadata: {name: large}\nspec: {phases: []}")
	for i := range 10 {
		phase := v1alpha1.Phase{Name: fmt.Sprintf("phase-%d", i)}
		for j := range objects / 10 {
			raw := fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"object-%d-%d"}}`, i, j)
			phase.Objects = append(phase.Objects, v1alpha1.Object{Object: runtime.RawExtension{Raw: []byte(raw)}})
		}
		set.Spec.Phases = append(set.Spec.Phases, phase)
	}
	return set
}

// TestManyProblems fit into a condition.
// TestLargeSet has an inventory that is not a list in the status.
func TestLargeSet(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.start()
	set := r.largeSet(300)
	r.create(set)
	r.awaitCondition(set, available, "True/Available", "300 of 300 objects in 10 phases are available")
	if set.Status.InventoryRecord == nil || len(set.Status.Inventory) > 0 {
		t.Errorf("want another form of the inventory than a list of %d items", len(set.Status.Inventory))
	}
	r.delete(set)
	r.awaitGone(set)
}

func TestManyProblems(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.start()
	set := r.largeSet(300)
	for i := range set.Spec.Phases {
		for j := range set.Spec.Phases[i].Objects {
			raw := &set.Spec.Phases[i].Objects[j].Object.Raw
			*raw = []byte(strings.Replace(string(*raw), `"metadata":{`, `"metadata":{"namespace":"elsewhere",`, 1))
		}
	}
	r.create(set)
	r.awaitCondition(set, available, "False/PreflightError", `Phase "phase-0": objects[0]: ConfigMap elsewhere/object-0-0`)
	if condition, _ := set.Status.GetCondition(available); len(condition.Message) > 2048 {
		t.Errorf("the message has %d bytes", len(condition.Message))
	}
	r.delete(set)
	r.awaitGone(set)
}
