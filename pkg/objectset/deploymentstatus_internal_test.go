// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package objectset

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apitypes "k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/objectset/v1alpha1"
)

// TestReports: an update that brings the status that is wanted wakes nobody; each other one does.
func TestReports(t *testing.T) {
	t.Parallel()
	status := func(revision int64) v1alpha1.DeploymentStatus {
		return v1alpha1.DeploymentStatus{ObservedGeneration: revision}
	}
	deployment := func(uid apitypes.UID, has int64) *v1alpha1.ObjectDeployment {
		return &v1alpha1.ObjectDeployment{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "web", UID: uid}, Status: status(has)}
	}
	d := deployments{reports: &reports{known: map[apitypes.NamespacedName]lastReport{}}}
	first := deployment("a", 0)
	if !d.wakes(first, deployment("a", 1)) {
		t.Error("nothing is wanted yet")
	}
	if before := d.reports.want(first, status(1)); before != nil {
		t.Errorf("nothing was written, got %v", before)
	}
	d.reports.written(first, status(1))
	if before := d.reports.want(first, status(2)); before == nil || before.ObservedGeneration != 1 {
		t.Errorf("want what was written, got %v", before)
	}
	for _, tc := range []struct {
		before, after *v1alpha1.ObjectDeployment
		wakes         bool
	}{
		{deployment("a", 1), deployment("a", 2), false},
		{deployment("a", 2), deployment("a", 1), true},
		{deployment("a", 1), deployment("a", 1), true},
		{deployment("a", 2), deployment("a", 2), false},
		{deployment("b", 1), deployment("b", 2), true},
	} {
		if got := d.wakes(tc.before, tc.after); got != tc.wakes {
			t.Errorf("%s, from status %d to %d: got %v", tc.after.UID, tc.before.Status.ObservedGeneration, tc.after.Status.ObservedGeneration, got)
		}
	}
	changed := deployment("a", 2)
	changed.Generation++
	if !d.wakes(deployment("a", 2), changed) {
		t.Error("the specification has changed")
	}
	d.reports.forget(client.ObjectKeyFromObject(first))
	if !d.wakes(deployment("a", 2), deployment("a", 2)) {
		t.Error("it was not forgotten")
	}
}
