// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package behaviors_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/behaviors"
)

// both is a value with two behaviors.
type both struct{ behaviors.NotAwaited }

func (both) Step() int { return 2 }

func TestAttach(t *testing.T) {
	t.Parallel()
	bare := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
	if behaviors.Attach(bare) != client.Object(bare) || behaviors.Bare(bare) != client.Object(bare) || len(behaviors.Names(bare)) > 0 {
		t.Error("an object without behaviors must stay as it is")
	}
	first := behaviors.Attach(bare, behaviors.AtStep(1), both{})
	second := behaviors.Attach(first, behaviors.AtStep(3), 7)
	for object, want := range map[client.Object]struct {
		step  int
		names string
	}{first: {2, "Awaited, Stepped"}, second: {3, "Awaited, Stepped"}} {
		stepped, ok := behaviors.Of[behaviors.Stepped](object)
		if !ok || stepped.Step() != want.step {
			t.Errorf("the last behavior counts: expected step %d, got %v", want.step, stepped)
		}
		if got := strings.Join(behaviors.Names(object), ", "); got != want.names {
			t.Errorf("expected %s, got %s", want.names, got)
		}
		if behaviors.Bare(object) != client.Object(bare) {
			t.Error("the object must be the same")
		}
	}
	if _, ok := behaviors.Of[behaviors.Guarded](second); ok {
		t.Error("there is no guard")
	}
	if diff := cmp.Diff([]string{"int"}, behaviors.Unknown(second)); diff != "" || len(behaviors.Unknown(first)) > 0 || len(behaviors.Unknown(bare)) > 0 {
		t.Error(diff, behaviors.Unknown(first))
	}
}

func TestCopiesKeepBehaviors(t *testing.T) {
	t.Parallel()
	object := behaviors.Attach(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, both{})
	copied, ok := object.DeepCopyObject().(client.Object)
	if !ok || strings.Join(behaviors.Names(copied), " ") != "Awaited Stepped" {
		t.Fatalf("unexpected copy: %v", copied)
	}
	copied.SetName("b")
	if object.GetName() != "a" {
		t.Error("the copy is not deep")
	}
	other := behaviors.Attach(&corev1.Secret{}, behaviors.AtStep(5))
	if carried := behaviors.Carry(object, other); strings.Join(behaviors.Names(carried), " ") != "Awaited Stepped" || behaviors.Bare(carried) != behaviors.Bare(other) {
		t.Errorf("unexpected behaviors: %v", behaviors.Names(carried))
	}
	if carried := behaviors.Carry(behaviors.Bare(object), other); len(behaviors.Names(carried)) > 0 {
		t.Errorf("unexpected behaviors: %v", behaviors.Names(carried))
	}
}
