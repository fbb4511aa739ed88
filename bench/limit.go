// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apitypes "k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/bench/internal/bundles"
)

// limitWorkers is the number of requests that the bare client has under way.
const limitWorkers = 16

// dependentBytes is the size of the content of the objects that speed is measured with.
const dependentBytes = 500

// parallel runs work for 0 to n-1, bounded, and returns the first error, after which nothing new is begun.
func parallel(ctx context.Context, n int, work func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var workers sync.WaitGroup
	next := make(chan int)
	for range min(n, limitWorkers) {
		workers.Go(func() {
			for i := range next {
				if err := work(ctx, i); err != nil {
					cancel(err)
					return
				}
			}
		})
	}
	for i := 0; i < n && ctx.Err() == nil; i++ {
		select {
		case next <- i:
		case <-ctx.Done():
		}
	}
	close(next)
	workers.Wait()
	return context.Cause(ctx)
}

// applyEach creates or updates objects of one kind by forced server-side applies, encoded beforehand, without looking at the
// responses: this is what the server can do.
func (c *connection) applyEach(ctx context.Context, namespace string, objects []*unstructured.Unstructured) (time.Duration, error) {
	if len(objects) == 0 {
		return 0, nil
	}
	mapping, err := c.client.RESTMapper().RESTMapping(objects[0].GroupVersionKind().GroupKind(), objects[0].GroupVersionKind().Version)
	if err != nil {
		return 0, err
	}
	server, err := c.rest(objects[0])
	if err != nil {
		return 0, err
	}
	bodies := make([][]byte, len(objects))
	for i, object := range objects {
		if bodies[i], err = object.MarshalJSON(); err != nil {
			return 0, fmt.Errorf("encoding %s: %w", object.GetName(), err)
		}
	}
	started := time.Now()
	err = parallel(ctx, len(objects), func(ctx context.Context, i int) error {
		return server.Patch(apitypes.ApplyPatchType).Namespace(namespace).Resource(mapping.Resource.Resource).Name(objects[i].GetName()).
			Param("fieldManager", c.agent).Param("force", "true").Body(bodies[i]).Do(ctx).Error()
	})
	return time.Since(started), err
}

// deleteEach deletes objects of one kind without looking at the responses.
func (c *connection) deleteEach(ctx context.Context, of client.Object, namespace string, names []string) error {
	if len(names) == 0 {
		return nil
	}
	kind, err := c.client.GroupVersionKindFor(of)
	if err != nil {
		return err
	}
	mapping, err := c.client.RESTMapper().RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return err
	}
	server, err := c.rest(of)
	if err != nil {
		return err
	}
	return parallel(ctx, len(names), func(ctx context.Context, i int) error {
		return server.Delete().Namespace(namespace).Resource(mapping.Resource.Resource).Name(names[i]).Do(ctx).Error()
	})
}

// limits are the times that a bare client takes for ConfigMaps of the usual size.
type limits struct {
	apply, list, remove time.Duration
}

// limits measures with a client that is used for nothing else.
func (l *lab) limits(ctx context.Context, bare *connection, n int) (limits, error) {
	objects := make([]*unstructured.Unstructured, n)
	names := make([]string, n)
	for i := range objects {
		names[i] = bundles.DependentName("limit", int64(i))
		objects[i] = bundles.NewConfigMap(names[i], bundles.Payload(dependentBytes))
	}
	var found limits
	var err error
	if found.apply, err = bare.applyEach(ctx, l.namespace, objects); err != nil {
		return found, fmt.Errorf("measuring the limit of creation: %w", err)
	}
	server, err := bare.rest(&corev1.ConfigMap{})
	if err != nil {
		return found, err
	}
	started := time.Now()
	if err := server.Get().Namespace(l.namespace).Resource("configmaps").VersionedParams(&metav1.ListOptions{}, metav1.ParameterCodec).Do(ctx).Error(); err != nil {
		return found, fmt.Errorf("measuring the limit of listing: %w", err)
	}
	found.list = time.Since(started)
	if err := l.settle(ctx); err != nil {
		return found, err
	}
	started = time.Now()
	if err := bare.deleteEach(ctx, &corev1.ConfigMap{}, l.namespace, names); err != nil {
		return found, fmt.Errorf("measuring the limit of deletion: %w", err)
	}
	found.remove = time.Since(started)
	return found, nil
}
