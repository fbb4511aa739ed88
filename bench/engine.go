// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/bench/internal/bundles"
	"github.com/component-operator/runtime/bench/internal/measured"
	"github.com/component-operator/runtime/internal/digest"
	"github.com/component-operator/runtime/pkg/cluster"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/types"
)

// memoryStore keeps the inventory in memory.
type memoryStore struct {
	saves int
}

// Save counts; the inventory is in the result anyway.
func (s *memoryStore) Save(context.Context, []*reconciler.InventoryItem) error {
	s.saves++
	return nil
}

// clusterClient bundles what the engine needs of a connection.
func (c *connection) clusterClient() (cluster.Client, error) {
	discoveryClient, err := discovery.NewDiscoveryClientForConfigAndClient(c.config, c.http)
	if err != nil {
		return nil, fmt.Errorf("making a client for discovery: %w", err)
	}
	return cluster.NewClient(c.client, discoveryClient, &record.FakeRecorder{}, c.config, c.http), nil
}

// createEngine measures the engine alone, from an empty inventory until everything is ready.
func createEngine(ctx context.Context, l *lab) ([]measured.Figure, error) {
	c, err := l.connect("engine")
	if err != nil {
		return nil, err
	}
	bare, err := l.connect("bare")
	if err != nil {
		return nil, err
	}
	if err := errors.Join(l.warm(ctx, c), l.warm(ctx, bare)); err != nil {
		return nil, err
	}
	s := &stage{lab: l, bare: bare}
	var times, applies, marked, decoded []time.Duration
	var traffic traffic
	err = s.repeat(ctx, func(name string, found limits) error {
		took, err := l.applyMarked(ctx, bare)
		if err != nil {
			return err
		}
		marked = append(marked, took)
		if err := l.settle(ctx); err != nil {
			return err
		}
		if took, err = l.applyDecoded(ctx, bare); err != nil {
			return err
		}
		decoded = append(decoded, took)
		if err := l.settle(ctx); err != nil {
			return err
		}
		before := c.requests.Len()
		if took, err = l.applyOnce(ctx, c, name); err != nil {
			return err
		}
		traffic.add(c.requests.Since(before))
		times, applies = append(times, took), append(applies, found.apply)
		return l.removeAll(ctx, &corev1.ConfigMap{})
	})
	if err != nil {
		return nil, err
	}
	return []measured.Figure{
		measured.Speed("500 dependents, Apply", times, applies).AtMost(measured.BarRatio, 1.25),
		measured.Most("writes to dependents", traffic.writes).Exactly(manyDependents),
		measured.Most("reads of dependents", traffic.reads).Exactly(0),
		measured.Most("other requests", traffic.others).Noted("%s", traffic.otherKinds),
		measured.Speed("the limit, with the marks of dependents", marked, applies).Noted("what the label and the annotations cost by which owners are known"),
		measured.Speed("the limit, with responses decoded", decoded, applies).Noted("what a client needs that reads the responses"),
	}, nil
}

// applyMarked makes the requests of the limit for objects with a label and annotations such as all dependents have.
func (l *lab) applyMarked(ctx context.Context, c *connection) (time.Duration, error) {
	owner := l.namespace + "/marked"
	objects := make([]*unstructured.Unstructured, manyDependents)
	for i := range objects {
		objects[i] = bundles.NewConfigMap(bundles.DependentName("marked", int64(i)), bundles.Payload(dependentBytes))
		objects[i].SetLabels(map[string]string{bundles.ReconcilerName + "/" + types.LabelKeySuffixOwnerId: digest.OwnerLabel(owner)})
		objects[i].SetAnnotations(map[string]string{
			bundles.ReconcilerName + "/" + types.AnnotationKeySuffixOwnerId: owner,
			bundles.ReconcilerName + "/" + types.AnnotationKeySuffixDigest:  fmt.Sprintf("2:%032x", i),
		})
	}
	took, err := c.applyEach(ctx, l.namespace, objects)
	if err != nil {
		return took, fmt.Errorf("measuring with marks: %w", err)
	}
	return took, l.removeAll(ctx, &corev1.ConfigMap{})
}

// applyDecoded makes the same requests as the limit with a client that encodes and decodes them, as anybody must who wants to
// know what became of them.
func (l *lab) applyDecoded(ctx context.Context, c *connection) (time.Duration, error) {
	started := time.Now()
	err := parallel(ctx, manyDependents, func(ctx context.Context, i int) error {
		object := bundles.NewConfigMap(bundles.DependentName("decoded", int64(i)), bundles.Payload(dependentBytes))
		object.SetNamespace(l.namespace)
		return c.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), client.ForceOwnership, client.FieldOwner(c.agent))
	})
	took := time.Since(started)
	if err != nil {
		return took, fmt.Errorf("measuring with decoded responses: %w", err)
	}
	return took, l.removeAll(ctx, &corev1.ConfigMap{})
}

// applyOnce makes one call of Apply with an engine that knows nothing.
func (l *lab) applyOnce(ctx context.Context, c *connection, name string) (time.Duration, error) {
	clnt, err := c.clusterClient()
	if err != nil {
		return 0, err
	}
	engine, err := reconciler.New(bundles.ReconcilerName, clnt, reconciler.Options{})
	if err != nil {
		return 0, err
	}
	defer engine.Close()
	bundle := &bundles.Bundle{Spec: usual}
	objects, err := bundles.Generate(ctx, l.namespace, name, bundle.GetSpec())
	if err != nil {
		return 0, err
	}
	request := reconciler.ApplyRequest{
		Owner:   reconciler.Owner{ID: "bench/" + l.namespace + "/" + name, Namespace: l.namespace, Store: &memoryStore{}},
		Objects: objects,
		Digest:  "1",
	}
	started := time.Now()
	result, err := engine.Apply(ctx, request)
	took := time.Since(started)
	if err == nil && !result.Done {
		err = fmt.Errorf("applying %d objects: one call was not enough (%d waits)", len(objects), len(result.Waits))
	}
	return took, err
}
