// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"runtime"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/component-operator/runtime/bench/internal/bundles"
	"github.com/component-operator/runtime/bench/internal/measured"
	"github.com/component-operator/runtime/internal/digest"
	"github.com/component-operator/runtime/internal/judges"
	"github.com/component-operator/runtime/internal/observe"
	"github.com/component-operator/runtime/pkg/status"
	"github.com/component-operator/runtime/pkg/types"
)

// observedBytes is the size of the content of the objects whose observation is weighed, ownedEach how many of them have one owner.
const (
	observedBytes = 2000
	ownedEach     = 50
)

// memory weighs what is kept of an observed dependent.
func memory(ctx context.Context, l *lab) ([]measured.Figure, error) {
	n := pick(l, 5000, 50000)
	var figures []measured.Figure
	for _, kind := range []struct {
		name  string
		build func(name, content string) *unstructured.Unstructured
		bar   float64
	}{
		{"ConfigMap", bundles.NewConfigMap, 0.6},
		{"Deployment", bundles.NewDeployment, 0.8},
	} {
		l.Say("%s: creating %d objects of kind %s", l.name, n, kind.name)
		bytes, err := l.weigh(ctx, n, kind.build)
		if err != nil {
			return figures, fmt.Errorf("weighing observations of kind %s: %w", kind.name, err)
		}
		figures = append(figures, measured.Amount(fmt.Sprintf("heap per observed %s of 2 KB, of %d", kind.name, n), bytes/1024, "KiB").AtMost(measured.BarValue, kind.bar))
	}
	return figures, nil
}

// weigh returns the bytes of heap per object that observing objects takes.
func (l *lab) weigh(ctx context.Context, n int, build func(name, content string) *unstructured.Unstructured) (float64, error) {
	writer, err := l.connect("writer")
	if err != nil {
		return 0, err
	}
	reader := &observe.Reader{
		OwnerLabel: bundles.ReconcilerName + "/" + types.LabelKeySuffixOwnerId, Manager: writer.agent,
		Judges: judges.New(bundles.ReconcilerName, status.NewAnalyzer(bundles.ReconcilerName, status.Options{})),
	}
	var names []string
	var sample *unstructured.Unstructured
	const portion = 5000
	for first := 0; first < n; first += portion {
		objects := objectsOf(first, min(portion, n-first), reader.OwnerLabel, build)
		if _, err := writer.applyEach(ctx, l.namespace, objects); err != nil {
			return 0, err
		}
		for _, object := range objects {
			names = append(names, object.GetName())
		}
		sample = objects[0]
		l.Tick("%s: %d of %d", l.name, len(names), n)
	}
	bytes, err := l.weighCache(ctx, reader, sample.GroupVersionKind(), names)
	if err != nil {
		return 0, err
	}
	l.Say("%s: cleaning up", l.name)
	return bytes / float64(n), writer.deleteEach(ctx, sample, l.namespace, names)
}

func objectsOf(first, n int, label string, build func(name, content string) *unstructured.Unstructured) []*unstructured.Unstructured {
	var objects []*unstructured.Unstructured
	for i := range n {
		object := build(fmt.Sprintf("observed-%d", first+i), bundles.Payload(observedBytes))
		object.SetLabels(map[string]string{label: digest.OwnerLabel(fmt.Sprint((first + i) / ownedEach))})
		objects = append(objects, object)
	}
	return objects
}

// weighCache returns the bytes of heap that a cache of the objects takes.
func (l *lab) weighCache(ctx context.Context, reader *observe.Reader, kind schema.GroupVersionKind, names []string) (float64, error) {
	observing, err := l.connect("observer")
	if err != nil {
		return 0, err
	}
	cache, err := observe.New(observe.Options{
		Reader: reader, Config: observing.config, HTTPClient: observing.http, Mapper: observing.client.RESTMapper(), Notify: func(string) {},
	})
	if err != nil {
		return 0, err
	}
	defer cache.Close()
	baseline := heap()
	if err := cache.Watch(ctx, "observer", []observe.Need{{Kind: kind, Namespaces: []string{l.namespace}}}); err != nil {
		return 0, err
	}
	full := heap()
	// Using the cache keeps it alive until here, and shows that it holds what was weighed.
	for _, name := range names {
		if seen, view := cache.Get(kind, l.namespace, name); view != observe.Present || seen.Fingerprint == "" {
			return 0, fmt.Errorf("the cache does not hold %s, or not as written", name)
		}
	}
	return full - baseline, nil
}

// heap returns the bytes that are in use after garbage was collected, also that which only a second collection finds.
func heap() float64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return float64(stats.HeapAlloc)
}
