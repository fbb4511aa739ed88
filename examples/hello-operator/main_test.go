// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/component"
	"github.com/component-operator/runtime/pkg/operatortest"
)

// TestGreeting runs the operator until a greeting is ready, changed, and deleted.
func TestGreeting(t *testing.T) {
	t.Parallel()
	cluster := operatortest.Start(t, operatortest.Options{Definitions: "crds", Setup: setup})
	greeting := &Greeting{ObjectMeta: metav1.ObjectMeta{Name: "world"}}
	configMap := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "world"}}
	for _, message := range []string{"hello", "good night"} {
		greeting.Spec.Message = message
		cluster.Apply(t, greeting)
		cluster.WaitReady(t, greeting)
		cluster.Get(t, configMap)
		if diff := cmp.Diff(map[string]string{"greeting": message}, configMap.Data); diff != "" {
			t.Errorf("unexpected ConfigMap:\n%s", diff)
		}
	}
	cluster.Delete(t, greeting)
	cluster.WaitGone(t, greeting)
	if err := cluster.Client().Get(t.Context(), client.ObjectKeyFromObject(configMap), configMap); !apierrors.IsNotFound(err) {
		t.Errorf("the greeting is gone, but its ConfigMap is not: %v", err)
	}
}

// TestNothingIsTakenOver checks that a greeting does not get an object of another user, whatever its name is.
func TestNothingIsTakenOver(t *testing.T) {
	t.Parallel()
	cluster := operatortest.Start(t, operatortest.Options{Definitions: "crds", Setup: setup})
	theirs := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "theirs"}, Data: map[string]string{"mine": "1"}}
	thief := &Greeting{ObjectMeta: metav1.ObjectMeta{Name: "theirs"}}
	cluster.Apply(t, theirs, thief)
	cluster.WaitFor(t, thief, "the greeting is refused", func(status *component.Status) bool {
		return strings.Contains(fmt.Sprint(status.GetState()), "already exists and has no owner")
	})
	cluster.Delete(t, thief)
	cluster.WaitGone(t, thief)
	cluster.Get(t, theirs)
	if diff := cmp.Diff(map[string]string{"mine": "1"}, theirs.Data); diff != "" {
		t.Errorf("the ConfigMap of another user has changed:\n%s", diff)
	}
}
