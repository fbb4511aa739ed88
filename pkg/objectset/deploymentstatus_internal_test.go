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

// TestReports: an update that brings the status that is wanted, or one that is not newer than our last write, wakes nobody; each other one does.
func TestReports(t *testing.T) {
	t.Parallel()
	status := func(revision int64) v1alpha1.DeploymentStatus {
		return v1alpha1.DeploymentStatus{ObservedGeneration: revision}
	}
	deployment := func(uid apitypes.UID, version string, has int64) *v1alpha1.ObjectDeployment {
		return &v1alpha1.ObjectDeployment{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "web", UID: uid, ResourceVersion: version}, Status: status(has)}
	}
	d := deployments{reports: &reports{known: map[apitypes.NamespacedName]lastReport{}}}
	first := deployment("a", "8", 0)
	if !d.wakes(first, deployment("a", "9", 1)) {
		t.Error("nothing is wanted yet")
	}
	d.reports.want(first, status(1))
	if d.wakes(first, deployment("a", "9", 1)) {
		t.Error("the event of a write may come before its answer")
	}
	d.reports.written(deployment("a", "9", 1))
	d.reports.want(first, status(2))
	for _, tc := range []struct {
		reason string
		after  *v1alpha1.ObjectDeployment
		wakes  bool
	}{
		{"what is wanted", deployment("a", "10", 2), false},
		{"the event of the last write", deployment("a", "9", 1), false},
		{"an event from before the last write", deployment("a", "8", 3), false},
		{"somebody else has written an earlier status", deployment("a", "10", 1), true},
		{"somebody else has written another status", deployment("a", "10", 3), true},
		{"another deployment", deployment("b", "10", 2), true},
		{"another deployment, from before the last write", deployment("b", "8", 2), true},
	} {
		if got := d.wakes(deployment(tc.after.UID, "7", 0), tc.after); got != tc.wakes {
			t.Errorf("%s: got %v", tc.reason, got)
		}
	}
	changed := deployment("a", "9", 1)
	changed.Generation++
	if !d.wakes(first, changed) {
		t.Error("the specification has changed")
	}
	for _, tc := range []struct {
		cached *v1alpha1.ObjectDeployment
		want   int64
	}{
		{deployment("a", "8", 0), 1},
		{deployment("a", "10", 3), 3},
		{deployment("b", "8", 0), 0},
	} {
		d.reports.complete(tc.cached)
		if got := tc.cached.Status.ObservedGeneration; got != tc.want {
			t.Errorf("%s in version %s: a step begins with status %d, want %d", tc.cached.UID, tc.cached.ResourceVersion, got, tc.want)
		}
	}
	d.reports.begin(client.ObjectKeyFromObject(first))
	if !d.wakes(first, deployment("a", "10", 2)) {
		t.Error("during a step, it is not known what the step has seen")
	}
	if d.wakes(first, deployment("a", "9", 1)) {
		t.Error("during a step, a late event of our own wakes nobody, either")
	}
	if !d.wakes(deployment("a", "12", 1), deployment("a", "6", 3)) {
		t.Error("the cluster was restored from a backup")
	}
	d.reports.written(deployment("a", "12", 3))
	d.reports.forget(client.ObjectKeyFromObject(first))
	if !d.wakes(first, deployment("a", "9", 1)) {
		t.Error("it was not forgotten")
	}
}

// TestAnnounced: what a status write has brought is announced once, although its answer was lost.
func TestAnnounced(t *testing.T) {
	t.Parallel()
	deployment := func(reason string) *v1alpha1.ObjectDeployment {
		return &v1alpha1.ObjectDeployment{
			ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "web", UID: "a"},
			Status:     v1alpha1.DeploymentStatus{Conditions: []metav1.Condition{{Type: v1alpha1.DeploymentProgressing, Reason: reason}}},
		}
	}
	reports := &reports{known: map[apitypes.NamespacedName]lastReport{}}
	before, after := deployment("RollingOut"), deployment("Idle")
	reports.want(before, after.Status)
	reports.want(after, after.Status)
	for _, want := range []string{"RollingOut", "Idle"} {
		if got := reports.announce(after, after.Status.Conditions); len(got) != 1 || got[0].Reason != want {
			t.Errorf("want %s to be announced before, got %v", want, got)
		}
	}
}
