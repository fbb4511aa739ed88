// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"context"
	"slices"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/testenv"
)

// replica is a further replica of the operator, with requests of its own.
func (r *rig) replica() *rig {
	r.tb.Helper()
	other := *r
	other.config, other.requests = testenv.CountingConfig(r.tb)
	return &other
}

// watches reports whether dependents of a resource are watched.
func (r *rig) watches(resource string) bool {
	return r.requests.Count(func(request testenv.Request) bool {
		return request.Resource == resource && request.IsWatch() && request.Query.Get("labelSelector") == r.name+"/owner-id"
	}) > 0
}

func (r *rig) awaitWatches(resources ...string) {
	r.tb.Helper()
	for _, resource := range resources {
		testenv.Eventually(r.tb, func() (bool, string) {
			return r.watches(resource), resource + " are not watched:\n" + r.requests.String()
		})
	}
}

const threeKinds = `
{apiVersion: v1, kind: ConfigMap, metadata: {name: one}}
---
{apiVersion: v1, kind: Secret, metadata: {name: two}}
---
{apiVersion: v1, kind: ServiceAccount, metadata: {name: three}}
`

func TestStandbyIsWarm(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	first, second := r.replica(), r.replica()
	stop := first.leader("warm", r.reconciler(ReconcilerOptions{}))
	widget := r.widget(threeKinds)
	r.create(widget)
	awaitReady(r, widget)

	passes := make(chan string, 100)
	second.leader("warm", r.reconciler(ReconcilerOptions{}).WithPostReconcileHook(func(_ context.Context, _ client.Client, w *Widget) error {
		passes <- w.Name
		return nil
	}))
	second.awaitWatches("configmaps", "secrets", "serviceaccounts")
	// What comes later is noticed, too.
	late := r.widget("{apiVersion: v1, kind: Service, metadata: {name: late}, spec: {ports: [{port: 80}]}}")
	late.Name = "late"
	r.create(late)
	awaitReady(r, late)
	second.awaitWatches("services")
	r.settle(late)

	second.requests.Reset()
	stop()
	names := []string{<-passes, <-passes}
	slices.Sort(names)
	diff(t, "first passes of the new leader", []string{"demo", "late"}, names)
	r.settle(widget)
	if count := second.requests.Count(func(request testenv.Request) bool {
		return !isNoise(request) && request.Resource != "leases" && request.Resource != "events"
	}); count > 0 {
		t.Errorf("want no requests besides watches, leases and events, got\n%s", second.requests)
	}
	change(r, widget, func(w *Widget) { w.Spec.Objects = w.Spec.Objects[:2] })
	awaitReady(r, widget)
}
