// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/observe"
	"github.com/component-operator/runtime/pkg/cluster"
	"github.com/component-operator/runtime/pkg/reconciler"
)

// noop measures the processor time of a call of Apply that finds everything as it should be, without any API server.
func noop(ctx context.Context, l *lab) ([]figure, error) {
	const few, many = 1000, 10000
	// The operator names the version of the objects as long as its generator is not called again.
	small, err := noopPass(ctx, few, pick(l, 20, 100), "1")
	if err != nil {
		return nil, err
	}
	large, err := noopPass(ctx, many, pick(l, 10, 50), "1")
	if err != nil {
		return nil, err
	}
	generated, err := noopPass(ctx, many, pick(l, 5, 20), "")
	if err != nil {
		return nil, err
	}
	return []figure{
		amount("CPU of a pass over 10000 unchanged dependents", large.Seconds()*1000, "ms").atMost(barValue, 50),
		amount("CPU of a pass over 1000", small.Seconds()*1000, "ms"),
		amount("CPU of a pass over 10000 that were generated anew", generated.Seconds()*1000, "ms"),
		amount("10000 in relation to 1000", large.Seconds()/small.Seconds(), "x").atMost(barValue, 12),
	}, nil
}

// noopPass returns the mean processor time of a call.
func noopPass(ctx context.Context, n int64, calls int, version string) (time.Duration, error) {
	server := &memoryServer{}
	engine, err := newMemoryEngine(server)
	if err != nil {
		return 0, err
	}
	bundle := &Bundle{Spec: BundleSpec{Dependents: n, PayloadBytes: dependentBytes}}
	objects, err := generateBundle(ctx, "default", "noop", bundle.GetSpec())
	if err != nil {
		return 0, err
	}
	request := reconciler.ApplyRequest{
		Owner:   reconciler.Owner{ID: "bench/default/noop", Namespace: "default", Store: &memoryStore{}},
		Objects: objects,
		Version: version,
		Digest:  "1",
	}
	var used time.Duration
	// The first call writes, the second one is to fill what is filled once.
	for i := range calls + 2 {
		before, sent := cpuTime(), server.count.Load()
		result, err := engine.Apply(ctx, request)
		if err != nil {
			return 0, err
		}
		sent = server.count.Load() - sent
		if first := i == 0; !result.Done || first && sent != n || !first && sent != 0 {
			return 0, fmt.Errorf("call %d of Apply for %d objects: %d requests, done: %v", i+1, n, sent, result.Done)
		}
		request.Inventory = result.Inventory
		if i > 1 {
			used += cpuTime() - before
		}
	}
	return used / time.Duration(calls), nil
}

// newMemoryEngine returns an engine that needs no API server.
func newMemoryEngine(server *memoryServer) (*reconciler.Reconciler, error) {
	scheme, err := newScheme()
	if err != nil {
		return nil, err
	}
	mapper := meta.NewDefaultRESTMapper([]schema.GroupVersion{corev1.SchemeGroupVersion})
	mapper.Add(corev1.SchemeGroupVersion.WithKind("ConfigMap"), meta.RESTScopeNamespace)
	config := &rest.Config{Host: "http://memory", QPS: -1, Transport: server}
	clnt, err := client.New(config, client.Options{Scheme: scheme, Mapper: mapper})
	if err != nil {
		return nil, fmt.Errorf("making a client in memory: %w", err)
	}
	bundled := cluster.NewClient(clnt, nil, &record.FakeRecorder{}, config, &http.Client{Transport: server})
	return reconciler.New(reconcilerName, bundled, reconciler.Options{Observer: &memoryObserver{}})
}

// memoryServer answers applies as an API server would, and remembers nothing.
type memoryServer struct {
	count atomic.Int64
}

// RoundTrip gives the object that is applied an identity and an owner of its fields.
func (s *memoryServer) RoundTrip(request *http.Request) (*http.Response, error) {
	version := s.count.Add(1)
	if request.Method != http.MethodPatch {
		return nil, fmt.Errorf("the API server in memory does not understand %s %s", request.Method, request.URL)
	}
	content, err := io.ReadAll(request.Body)
	if err != nil {
		return nil, err
	}
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON(content); err != nil {
		return nil, err
	}
	object.SetUID(types.UID(strconv.FormatInt(version, 10)))
	object.SetResourceVersion(strconv.FormatInt(100+version, 10))
	owned := map[string]any{
		"manager": reconcilerName, "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1",
		"fieldsV1": map[string]any{"f:data": map[string]any{"f:content": map[string]any{}}},
	}
	if err := unstructured.SetNestedSlice(object.Object, []any{owned}, "metadata", "managedFields"); err != nil {
		return nil, err
	}
	if content, err = json.Marshal(object.Object); err != nil {
		return nil, err
	}
	return &http.Response{
		Status: "201 Created", StatusCode: http.StatusCreated, Request: request,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(content)),
	}, nil
}

// memoryObserver knows what was written.
type memoryObserver struct {
	mu   sync.Mutex
	seen map[memoryKey]observe.Observation
}

type memoryKey struct {
	schema.GroupVersionKind
	namespace, name string
}

// Watch has nothing to wait for.
func (o *memoryObserver) Watch(context.Context, string, []observe.Need) error { return nil }

// Get returns what was recorded last.
func (o *memoryObserver) Get(gvk schema.GroupVersionKind, namespace, name string) (observe.Observation, observe.View) {
	o.mu.Lock()
	defer o.mu.Unlock()
	seen, ok := o.seen[memoryKey{gvk, namespace, name}]
	if !ok {
		return seen, observe.Absent
	}
	return seen, observe.Present
}

// Record keeps the response to a write.
func (o *memoryObserver) Record(gvk schema.GroupVersionKind, namespace, name string, observation observe.Observation) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.seen == nil {
		o.seen = map[memoryKey]observe.Observation{}
	}
	o.seen[memoryKey{gvk, namespace, name}] = observation
}

// Guard has nothing to watch.
func (o *memoryObserver) Guard(string, []schema.GroupVersionResource) {}

var _ reconciler.Observer = &memoryObserver{}
