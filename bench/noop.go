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
	"strings"
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

	"github.com/component-operator/runtime/bench/internal/bundles"
	"github.com/component-operator/runtime/bench/internal/measured"
	"github.com/component-operator/runtime/bench/internal/processor"
	"github.com/component-operator/runtime/pkg/cluster"
	"github.com/component-operator/runtime/pkg/probes"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/status"
)

// noop measures the processor time of a call of Apply that finds everything as it should be, without any API server.
func noop(ctx context.Context, l *lab) ([]measured.Figure, error) {
	const few, many = 1000, 10000
	// The operator names the version of the objects as long as its generator is not called again.
	small, err := noopPass(ctx, few, pick(l, 20, 100), "1", nil)
	if err != nil {
		return nil, err
	}
	large, err := noopPass(ctx, many, pick(l, 10, 50), "1", nil)
	if err != nil {
		return nil, err
	}
	generated, err := noopPass(ctx, many, pick(l, 5, 20), "", nil)
	if err != nil {
		return nil, err
	}
	judge, err := probes.New([]probes.Probe{{Checks: []probes.Check{{CEL: &probes.CEL{Rule: "size(self.data) > 0"}}}}}, nil)
	if err != nil {
		return nil, err
	}
	judged, err := noopPass(ctx, many, pick(l, 10, 50), "1", judge)
	if err != nil {
		return nil, err
	}
	return []measured.Figure{
		measured.Amount("CPU of a pass over 10000 unchanged dependents", large.Seconds()*1000, "ms").AtMost(measured.BarValue, 50),
		measured.Amount("CPU of a pass over 1000", small.Seconds()*1000, "ms"),
		measured.Amount("CPU of a pass over 10000 that were generated again", generated.Seconds()*1000, "ms"),
		measured.Amount("10000 in relation to 1000", large.Seconds()/small.Seconds(), "x").AtMost(measured.BarValue, 12),
		measured.Amount("10000 with a judge in relation to 10000 without", judged.Seconds()/large.Seconds(), "x").AtMost(measured.BarValue, 1.2),
	}, nil
}

// noopPass returns the mean processor time of a call.
func noopPass(ctx context.Context, n int64, calls int, version string, judge status.Judge) (time.Duration, error) {
	server := &memoryServer{}
	engine, err := newMemoryEngine(server)
	if err != nil {
		return 0, err
	}
	defer engine.Close()
	bundle := &bundles.Bundle{Spec: bundles.BundleSpec{Dependents: n, PayloadBytes: dependentBytes}}
	objects, err := bundles.Generate(ctx, "default", "noop", bundle.GetSpec())
	if err != nil {
		return 0, err
	}
	request := reconciler.ApplyRequest{
		Owner:   reconciler.Owner{ID: "bench/default/noop", Namespace: "default", Store: &memoryStore{}},
		Objects: objects,
		Version: version,
		Digest:  "1",
		Judge:   judge,
	}
	var used time.Duration
	// The first call writes, the second one is to fill what is filled once.
	for i := range calls + 2 {
		before, sent := processor.Time(), server.count.Load()
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
			used += processor.Time() - before
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
	return reconciler.New(bundles.ReconcilerName, bundled, reconciler.Options{})
}

// memoryServer answers applies as an API server would, and remembers nothing: whoever watches learns of no objects.
type memoryServer struct {
	count atomic.Int64 // of applies
}

// RoundTrip answers a request.
func (s *memoryServer) RoundTrip(request *http.Request) (*http.Response, error) {
	switch {
	case request.Method == http.MethodPatch:
		return s.apply(request)
	case request.Method == http.MethodGet && request.URL.Query().Get("watch") == "true":
		kind := `"kind":"ConfigMap","apiVersion":"v1"`
		if strings.Contains(request.Header.Get("Accept"), "PartialObjectMetadata") {
			kind = `"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1"`
		}
		all := `{"type":"BOOKMARK","object":{` + kind + `,"metadata":{"resourceVersion":"100","annotations":{"k8s.io/initial-events-end":"true"}}}}`
		return respond(request, http.StatusOK, io.MultiReader(strings.NewReader(all), silence{request.Context()})), nil
	default:
		return nil, fmt.Errorf("the API server in memory does not understand %s %s", request.Method, request.URL)
	}
}

// silence is the rest of a response: it has no content, and lasts as long as the request.
type silence struct{ ctx context.Context } //nolint:containedctx // a reader has no other way to learn of the end of the request

// Read waits for the end of the request.
func (s silence) Read([]byte) (int, error) {
	<-s.ctx.Done()
	return 0, io.EOF
}

func respond(request *http.Request, code int, body io.Reader) *http.Response {
	return &http.Response{
		Status: http.StatusText(code), StatusCode: code, Request: request, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(body),
	}
}

// apply gives the object an identity and an owner of its fields.
func (s *memoryServer) apply(request *http.Request) (*http.Response, error) {
	version := s.count.Add(1)
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
		"manager": bundles.ReconcilerName, "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1",
		"fieldsV1": map[string]any{"f:data": map[string]any{"f:content": map[string]any{}}},
	}
	if err := unstructured.SetNestedSlice(object.Object, []any{owned}, "metadata", "managedFields"); err != nil {
		return nil, err
	}
	if content, err = json.Marshal(object.Object); err != nil {
		return nil, err
	}
	return respond(request, http.StatusCreated, bytes.NewReader(content)), nil
}
