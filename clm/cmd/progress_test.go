// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/internal/digest"
)

// phases returns the phases of the events that clm has written, and the states of phase and verb of an object; without repetitions.
func phases(t *testing.T, events, object string) (operation, states []string) {
	t.Helper()
	for line := range strings.Lines(events) {
		var event struct {
			Type, Phase, Verb, State string
			Object                   struct{ Name string }
		}
		if err := json.Unmarshal([]byte(line), &event); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		switch {
		case event.Type == "phase":
			operation = append(operation, event.Phase)
		case event.Object.Name == object:
			states = append(states, strings.TrimSpace(event.State+" "+event.Phase+" "+event.Verb))
		}
	}
	return slices.Compact(operation), slices.Compact(states)
}

// TestWhatMovesIsNamed waits for a wave in the middle, for a new object, and for a redundant one.
func TestWhatMovesIsNamed(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	const held = "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: held, finalizers: [example.com/test], annotations: {clm.cs.sap.com/delete-order: \"7\"}}}\n"
	source := p.file("first.yaml", strings.ReplaceAll(gated, "VALUE", "1")+held)
	got := p.expect(p.timesOut("waiting until wave 0 is ready", "apply", "web", source, "--timeout", "10m", "-o", "json"), exitNotReady)
	operation, states := phases(t, got.stdout, "gate")
	if want := []string{"applying", "waiting until wave 0 is ready"}; !slices.Equal(operation, want) {
		t.Errorf("want the phases %q, got %q", want, operation)
	}
	if last := states[len(states)-1]; !strings.HasPrefix(last, "unready Creating") || slices.ContainsFunc(states, func(s string) bool { return strings.Contains(s, "Updating") }) {
		t.Errorf("a new object is created, not updated, got %q", states)
	}
	source = p.file("second.yaml", configMap("first", "1"))
	got = p.expect(p.timesOut("redundant objects are gone", "apply", "web", source, "--timeout", "10m", "-o", "json"), exitNotReady)
	if operation, _ = phases(t, got.stdout, ""); !slices.Equal(operation, []string{"applying", "waiting until redundant objects are gone"}) {
		t.Errorf("want to wait for redundant objects, got %q", operation)
	}
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: "held"}}
	if err := p.client.Patch(t.Context(), object, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))); err != nil {
		t.Fatal(err)
	}
	p.must("delete", "web")
}

// TestDeletionOfWhatWasNotBegun deletes a release whose last wave was never applied.
func TestDeletionOfWhatWasNotBegun(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	got := p.expect(p.timesOut("waiting until wave 0 is ready", "apply", "web", p.gated("1"), "--timeout", "10m"), exitNotReady)
	if !strings.Contains(got.stderr, "1 pending") {
		t.Errorf("want the object of the last wave to be counted, got %s", got.stderr)
	}
	if got := p.must("delete", "web").stderr; strings.Contains(got, "pending") || !strings.Contains(got, "(2 deleted, ") {
		t.Errorf("want nothing but what was deleted, got %s", got)
	}
}

// TestWhatWasThereIsNotCreated has a process continue that has created an object, and died before it could record that.
func TestWhatWasThereIsNotCreated(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.expect(p.timesOut("waiting until wave 0 is ready", "apply", "web", p.gated("1"), "--timeout", "10m"), exitNotReady)
	owner := releases.OwnerID(p.namespace, "web")
	last := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: p.namespace, Name: "last", Labels: map[string]string{"clm.cs.sap.com/owner-id": digest.OwnerLabel(owner)},
			Annotations: map[string]string{"clm.cs.sap.com/owner-id": owner},
		},
		Data: map[string]string{"value": "1"},
	}
	if err := p.client.Create(t.Context(), last, client.FieldOwner("clm.cs.sap.com")); err != nil {
		t.Fatal(err)
	}
	planned := p.must("plan", "web", p.gated("1")).stdout
	if !strings.Contains(planned, "~ ConfigMap "+p.namespace+"/last  (update: exists, but its creation was not recorded)") {
		t.Errorf("want an update, got %s", planned)
	}
	p.openGate()
	if got := p.must("apply", "web", p.gated("1")).stderr; strings.Contains(got, ": created") || !strings.Contains(got, "ConfigMap "+p.namespace+"/last: updated") {
		t.Errorf("want an update, got %s", got)
	}
	p.must("delete", "web")
}
