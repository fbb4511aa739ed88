// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package operatortest

import (
	"fmt"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/component"
)

// WaitReady waits until a component is ready as it was declared last. The given object is changed to what it is then.
func (c *Cluster) WaitReady(tb testing.TB, object client.Object) {
	tb.Helper()
	c.WaitFor(tb, object, "the component is ready", func(status *component.Status) bool { return status.IsReady() })
}

// WaitState waits until a component, as it was declared last, is in a state for a reason, such as component.StateError and "Error".
func (c *Cluster) WaitState(tb testing.TB, object client.Object, state component.State, reason string) {
	tb.Helper()
	c.WaitFor(tb, object, fmt.Sprintf("the component is %s (%s)", state, reason), func(status *component.Status) bool {
		is, why, _ := status.GetState()
		return is == state && why == reason
	})
}

// WaitFor waits until a condition holds for the status of a component, as it was declared last. What is awaited is part of the message if it does not. The
// given object is changed to what it is then.
func (c *Cluster) WaitFor(tb testing.TB, object client.Object, awaited string, condition func(status *component.Status) bool) {
	tb.Helper()
	key := c.locate(tb, object)
	generation := c.generation(tb, object)
	history := c.observe(tb, object)
	deadline := time.NewTimer(testenv.Patience())
	defer deadline.Stop()
	for {
		latest, gone, outdated := history.now()
		if latest != nil && !gone && latest.GetGeneration() >= generation {
			status, err := statusOf(latest)
			if err != nil {
				tb.Fatalf("%s has no status of a component: %v", key, err)
			}
			if status.ObservedGeneration == latest.GetGeneration() && condition(status) {
				receive(tb, latest, object)
				return
			}
		}
		select {
		case <-outdated:
		case <-c.ended:
			tb.Fatalf("%s: %s: this can no longer happen, because the operator has ended", key, awaited)
			return
		case <-deadline.C:
			tb.Fatalf("%s: still not so after %s: %s\n%s", key, testenv.Patience(), awaited, c.diagnosis().describe(latest, gone))
			return
		}
	}
}

// generation is that of the object in the cluster: later declarations count.
func (c *Cluster) generation(tb testing.TB, object client.Object) int64 {
	tb.Helper()
	current := &unstructured.Unstructured{}
	current.SetGroupVersionKind(c.content(tb, object).GroupVersionKind())
	key := client.ObjectKeyFromObject(object)
	if err := c.client.Get(tb.Context(), key, current); client.IgnoreNotFound(err) != nil {
		tb.Fatalf("getting %s: %v", c.locate(tb, object), err)
	}
	return current.GetGeneration()
}

// WaitGone waits until an object does not exist.
func (c *Cluster) WaitGone(tb testing.TB, object client.Object) {
	tb.Helper()
	key := c.locate(tb, object)
	current := &unstructured.Unstructured{}
	current.SetGroupVersionKind(c.content(tb, object).GroupVersionKind())
	c.Eventually(tb, func() error {
		switch err := c.client.Get(tb.Context(), key.ObjectKey, current); {
		case err == nil:
			return fmt.Errorf("%s exists\n%s", key, c.diagnosis().describe(current, false))
		case apierrors.IsNotFound(err):
			return nil
		default:
			return fmt.Errorf("getting %s: %w", key, err)
		}
	})
}

// Eventually waits until the condition returns nil. The message has its last error.
func (c *Cluster) Eventually(tb testing.TB, condition func() error) {
	tb.Helper()
	testenv.Eventually(tb, func() (bool, string) {
		if err := condition(); err != nil {
			return false, err.Error()
		}
		return true, ""
	})
}
