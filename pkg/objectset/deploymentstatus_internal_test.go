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

// TestLatestDeployment: a step works with the deployment of the last write of its status until the cache has it, or a newer one.
func TestLatestDeployment(t *testing.T) {
	t.Parallel()
	deployment := func(uid apitypes.UID, version string) *v1alpha1.ObjectDeployment {
		return &v1alpha1.ObjectDeployment{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "web", UID: uid, ResourceVersion: version}}
	}
	statuses := writtenStatuses{last: map[apitypes.NamespacedName]v1alpha1.Deployment{}}
	if first := deployment("a", "9"); statuses.latest(first) != v1alpha1.Deployment(first) {
		t.Error("nothing was written")
	}
	written := deployment("a", "10")
	statuses.remember(written)
	for _, tc := range []struct {
		cached *v1alpha1.ObjectDeployment
		older  bool
	}{
		{deployment("a", "9"), true},
		{deployment("a", "10"), false},
		{deployment("a", "11"), false},
		{deployment("b", "9"), false},
		{deployment("a", "of another kind"), false},
	} {
		want := v1alpha1.Deployment(tc.cached)
		if tc.older {
			want = written
		}
		if got := statuses.latest(tc.cached); got != want {
			t.Errorf("version %s of %s: got version %s of %s", tc.cached.ResourceVersion, tc.cached.UID, got.GetResourceVersion(), got.GetUID())
		}
	}
	statuses.forget(client.ObjectKeyFromObject(written))
	if cached := deployment("a", "9"); statuses.latest(cached) != v1alpha1.Deployment(cached) {
		t.Error("it was not forgotten")
	}
}
