// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/reconciler"
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

func TestWarmupEnds(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	stop := r.start(r.reconciler(ReconcilerOptions{}))
	widget := r.widget(oneConfigMap)
	asleep := r.widget("{apiVersion: v1, kind: ServiceAccount, metadata: {name: asleep}}")
	asleep.Name = "asleep"
	r.create(widget)
	r.create(asleep)
	awaitReady(r, widget)
	awaitReady(r, asleep)
	change(r, asleep, func(w *Widget) { w.Spec.Suspend = true })
	awaitState(r, asleep, StatePending, ReadyConditionReasonSuspended)
	stop()

	second := r.replica()
	reconciler := r.reconciler(ReconcilerOptions{})
	mgr := second.manager(nil)
	if err := reconciler.SetupWithManager(mgr); err != nil {
		t.Fatal(err)
	}
	if reconciler.worker.warmup.Options.Elected == nil {
		t.Error("want the warm-up to end some time after the election")
	}
	elected := make(chan struct{})
	reconciler.worker.warmup.Options.Elected, reconciler.worker.warmup.Options.Grace = elected, time.Nanosecond
	second.run(mgr)
	second.awaitWatches("configmaps", "serviceaccounts")
	close(elected)
	testenv.Eventually(t, func() (bool, string) {
		kinds := reconciler.worker.warmup.Options.Engine.Kinds()
		return len(kinds) == 1 && kinds[0].Kind == "ConfigMap", fmt.Sprint(kinds)
	})
}

// TestWarmupLastsWithSharding has only the warm-up ask for the kinds: the components are suspended. Where shards are, there is no end
// of standing by: each replica may get the components of another one at any time.
func TestWarmupLastsWithSharding(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	own := r.reconciler(ReconcilerOptions{Sharding: &Sharding{Shards: 2, Namespace: r.namespace, Identity: "a"}})
	mgr := r.manager(nil)
	if err := own.SetupWithManager(mgr); err != nil {
		t.Fatal(err)
	}
	own.worker.warmup.Options.Grace = time.Nanosecond
	r.run(mgr)
	<-mgr.Elected()
	for i, kind := range []string{"Secret", "ServiceAccount", "Service"} {
		late := r.widget("")
		late.Name, late.Spec.Suspend = fmt.Sprintf("late-%d", i), true
		r.create(late)
		awaitState(r, late, StatePending, ReadyConditionReasonSuspended)
		items := deployed("any")
		items[0].TypeVersionInfo = reconciler.TypeVersionInfo{Version: "v1", Kind: kind}
		patch, err := json.Marshal(map[string]any{"status": map[string]any{"inventory": items}})
		if err != nil {
			t.Fatal(err)
		}
		if err := r.client.Status().Patch(t.Context(), late, client.RawPatch("application/merge-patch+json", patch)); err != nil {
			t.Fatal(err)
		}
		r.awaitWatches(strings.ToLower(kind) + "s")
	}
}

func TestWarmupCanBeDisabled(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	first, second := r.replica(), r.replica()
	stop := first.leader("cold", r.reconciler(ReconcilerOptions{}))
	widget := r.widget(oneConfigMap)
	r.create(widget)
	awaitReady(r, widget)
	second.leader("cold", r.reconciler(ReconcilerOptions{DisableWarmup: true}))
	isOurs := func(request testenv.Request) bool {
		return request.Resource == "configmaps" || request.Resource == "widgets"
	}
	testenv.Eventually(t, func() (bool, string) {
		return second.requests.Count(func(request testenv.Request) bool { return request.Resource == "leases" }) > 2, "it does not stand by"
	})
	diff(t, "requests of a cold standby", 0, second.requests.Count(isOurs))
	stop()
	second.awaitWatches("configmaps")
}

func TestKindsOfAComponent(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		reason string
		spec   WidgetSpec
		want   bool
	}{
		{"without a kubeconfig, dependents are in the local cluster", WidgetSpec{}, false},
		{"a kubeconfig that is not loaded yet leads elsewhere", WidgetSpec{ClientSpec: ClientSpec{KubeConfig: &KubeConfigSpec{}}}, true},
	} {
		if got := mayBeRemote(&Widget{Spec: test.spec}); got != test.want {
			t.Errorf("%s: want %t, got %t", test.reason, test.want, got)
		}
	}
}
