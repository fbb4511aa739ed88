// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/judges"
	"github.com/component-operator/runtime/internal/manifest"
	"github.com/component-operator/runtime/internal/observe"
	"github.com/component-operator/runtime/pkg/cluster"
	"github.com/component-operator/runtime/pkg/probes"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/status"
	"github.com/component-operator/runtime/pkg/types"
)

// memoryStore does not store the inventory, which is also in the result.
type memoryStore struct{}

// Save implements reconciler.Store.
func (memoryStore) Save(context.Context, []*reconciler.InventoryItem) error { return nil }

// newEngine returns an engine without any state, and a request for n ConfigMaps.
func (l *lab) newEngine(ctx context.Context, c *connection, name string, n int64) (*reconciler.Reconciler, reconciler.ApplyRequest, error) {
	bundle := &Bundle{Spec: BundleSpec{Dependents: n, PayloadBytes: dependentBytes}}
	objects, err := bundleGenerator{}.Generate(ctx, l.namespace, name, bundle.GetSpec())
	if err != nil {
		return nil, reconciler.ApplyRequest{}, err
	}
	request := reconciler.ApplyRequest{
		Owner:   reconciler.Owner{ID: "bench/" + l.namespace + "/" + name, Namespace: l.namespace, Store: memoryStore{}},
		Objects: objects,
		Digest:  "1",
	}
	discoveryClient, err := discovery.NewDiscoveryClientForConfigAndClient(c.config, c.http)
	if err != nil {
		return nil, request, fmt.Errorf("making a client for discovery: %w", err)
	}
	clnt := cluster.NewClient(c.client, discoveryClient, &record.FakeRecorder{}, c.config, c.http)
	engine, err := reconciler.New(reconcilerName, clnt, reconciler.Options{})
	return engine, request, err
}

// createEngine measures the engine alone, from an empty inventory until everything is ready.
func createEngine(ctx context.Context, l *lab) ([]figure, error) {
	c, err := l.connect("engine")
	if err != nil {
		return nil, err
	}
	if err := c.client.List(ctx, &corev1.ConfigMapList{}, client.InNamespace(l.namespace)); err != nil {
		return nil, fmt.Errorf("connecting: %w", err)
	}
	var times, applies []time.Duration
	var traffic traffic
	err = l.repeat(ctx, func(name string, found limits) error {
		engine, request, err := l.newEngine(ctx, c, name, manyDependents)
		if err != nil {
			return err
		}
		defer engine.Close()
		before, started := c.requests.Len(), time.Now()
		result, err := engine.Apply(ctx, request)
		times, applies = append(times, time.Since(started)), append(applies, found.apply)
		if err == nil && !result.Done {
			err = fmt.Errorf("applying: one call was not enough (%d waits)", len(result.Waits))
		}
		traffic.add(c.requests.Since(before))
		// The engine of the next repetition would list and watch them.
		return errors.Join(err, l.bench.client.DeleteAllOf(ctx, &corev1.ConfigMap{}, client.InNamespace(l.namespace)))
	})
	if err != nil {
		return nil, err
	}
	return []figure{
		speed("500 dependents, Apply", times, applies).atMost(barRatio, 1.25),
		most("writes to dependents", traffic.writes...).exactly(manyDependents),
		most("reads of dependents", traffic.reads...).exactly(0),
	}, nil
}

// noop measures the processor time of Apply calls without any changes.
func noop(ctx context.Context, l *lab) ([]figure, error) {
	judge, err := probes.New([]probes.Probe{{Checks: []probes.Check{{CEL: &probes.CEL{Rule: "size(self.data) > 0"}}}}}, nil)
	if err != nil {
		return nil, err
	}
	const few, many = 1000, 10000
	var times []float64
	for _, pass := range []struct {
		n     int64
		judge status.Judge
	}{{few, nil}, {many, nil}, {many, judge}} {
		used, err := l.noopPass(ctx, pass.n, pick(l, 10, 50), pass.judge)
		if err != nil {
			return nil, err
		}
		times = append(times, used.Seconds()*1000)
	}
	return []figure{
		amount("CPU of a pass over 10000 unchanged dependents", times[1], "ms").atMost(barValue, 50),
		amount("10000 in relation to 1000", times[1]/times[0], "x").atMost(barValue, 12),
		amount("10000 with a judge in relation to 10000 without", times[2]/times[1], "x").atMost(barValue, 1.2),
	}, nil
}

// noopPass returns the mean processor time of a call. The names of the objects depend only on their number, so a second
// call with the same number finds them.
func (l *lab) noopPass(ctx context.Context, n int64, calls int, judge status.Judge) (time.Duration, error) {
	c, err := l.connect("engine")
	if err != nil {
		return 0, err
	}
	engine, request, err := l.newEngine(ctx, c, fmt.Sprintf("%s-%d", l.name, n), n)
	if err != nil {
		return 0, err
	}
	defer engine.Close()
	request.Version, request.Judge, request.Policies.Adoption = "1", judge, types.AdoptionPolicyAlways
	var used time.Duration
	// The first call writes, the second one fills lazy caches.
	for i := range calls + 2 {
		if i == 2 {
			if err := l.settle(ctx); err != nil {
				return 0, err
			}
		}
		before, sent := processorTime(), c.requests.Len()
		result, err := engine.Apply(ctx, request)
		if err != nil {
			return 0, err
		}
		if sent = c.requests.Len() - sent; i > 1 && (!result.Done || sent > 0) {
			return 0, fmt.Errorf("call %d of Apply for %d objects: %d requests, done: %v", i+1, n, sent, result.Done)
		}
		request.Inventory = result.Inventory
		if i > 1 {
			used += processorTime() - before
		}
	}
	return used / time.Duration(calls), nil
}

// memory measures the heap per observed dependent.
func memory(ctx context.Context, l *lab) ([]figure, error) {
	reader := &observe.Reader{
		OwnerLabel: reconcilerName + "/" + types.LabelKeySuffixOwnerId, Manager: l.bare.agent,
		Judges: judges.New(reconcilerName, status.NewAnalyzer(reconcilerName, status.Options{})),
	}
	objects := make([]*unstructured.Unstructured, pick(l, 5000, 50000))
	for i := range objects {
		objects[i] = newConfigMap(dependentName("observed", i), payload(2000))
		objects[i].SetLabels(map[string]string{reader.OwnerLabel: manifest.OwnerLabel(fmt.Sprint(i / 50))})
	}
	if _, err := l.bare.applyEach(ctx, l.namespace, objects); err != nil {
		return nil, err
	}
	cache, err := observe.New(observe.Options{
		Reader: reader, Config: l.bench.config, HTTPClient: l.bench.http, Mapper: l.bench.client.RESTMapper(), Notify: func(string) {},
	})
	if err != nil {
		return nil, err
	}
	defer cache.Close()
	kind := objects[0].GroupVersionKind()
	baseline := heap()
	if err := cache.Watch(ctx, "observer", []observe.Need{{Kind: kind, Namespaces: []string{l.namespace}}}); err != nil {
		return nil, err
	}
	bytes := heap() - baseline
	// Using the cache keeps it alive until here, and proves that it contains the objects.
	for _, object := range objects {
		if seen, view := cache.Get(kind, l.namespace, object.GetName()); view != observe.Present || seen.Fingerprint == "" {
			return nil, fmt.Errorf("the cache does not have %s, or not as written", object.GetName())
		}
	}
	_, err = l.bare.deleteEach(ctx, l.namespace, objects)
	what := fmt.Sprintf("heap per observed ConfigMap of 2 KB, of %d", len(objects))
	return []figure{amount(what, bytes/1024/float64(len(objects)), "KiB").atMost(barValue, 0.6)}, err
}

// heap returns the bytes in use after two garbage collections, because only the second one finds some garbage.
func heap() float64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return float64(stats.HeapAlloc)
}
