// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package operatortest

import (
	"context"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/testenv"
)

// endDeadline limits how long a part of the end of a test may take.
const endDeadline = 10 * time.Second

// clear deletes what the test applied, while the operator still runs: it removes what it has made, and then its
// finalizers. Objects with finalizers go first, because the operator may need the others until then. It gives up soon;
// see release.
func (c *Cluster) clear(tb testing.TB) {
	tb.Helper()
	for _, held := range []bool{true, false} {
		ctx, cancel := context.WithTimeout(c.ctx, min(testenv.Patience(), endDeadline))
		var deleted []*unstructured.Unstructured
		for _, object := range c.left(ctx) {
			if held == (len(object.GetFinalizers()) > 0) && c.client.Delete(ctx, object) == nil {
				deleted = append(deleted, object)
			}
		}
		for _, object := range deleted { // one that stays must not keep the others from being deleted
			for c.client.Get(ctx, client.ObjectKeyFromObject(object), object.DeepCopy()) == nil { // until the context ends
				select {
				case <-time.After(pollInterval):
				case <-ctx.Done():
				}
			}
		}
		cancel()
	}
}

// left returns the objects that the test applied and that still exist.
func (c *Cluster) left(ctx context.Context) []*unstructured.Unstructured {
	c.mu.Lock()
	defer c.mu.Unlock()
	var left []*unstructured.Unstructured
	for _, object := range c.applied {
		current := object.DeepCopy()
		if c.client.Get(ctx, client.ObjectKeyFromObject(object), current) == nil && current.GetUID() == object.GetUID() {
			left = append(left, current)
		}
	}
	return left
}

// release removes all finalizers from what is left, after the operator has ended: otherwise the namespace would stay.
// If nothing is left and the test has not failed, it does nothing.
func (c *Cluster) release(tb testing.TB) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(tb.Context()), 2*endDeadline)
	defer cancel()
	left := c.left(ctx)
	if len(left) == 0 && !tb.Failed() {
		return
	}
	clnt, err := discovery.NewDiscoveryClientForConfig(testenv.Config(tb))
	if err != nil {
		tb.Logf("creating a discovery client: %v", err)
		return
	}
	lists, _ := clnt.ServerPreferredNamespacedResources() // without groups whose server does not answer
	for _, list := range lists {
		group, _ := schema.ParseGroupVersion(list.GroupVersion)
		for _, resource := range list.APIResources {
			found := &unstructured.UnstructuredList{}
			found.SetGroupVersionKind(group.WithKind(resource.Kind + "List"))
			if !slices.Contains(resource.Verbs, "list") || c.client.List(ctx, found, client.InNamespace(c.namespace)) != nil {
				continue
			}
			for i := range found.Items {
				left = append(left, &found.Items[i])
			}
		}
	}
	for _, object := range left {
		if len(object.GetFinalizers()) == 0 {
			continue
		}
		bare := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: object.GetNamespace(), Name: object.GetName()}}
		bare.SetGroupVersionKind(object.GroupVersionKind())
		patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))
		if err := client.IgnoreNotFound(c.client.Patch(ctx, bare, patch, client.FieldOwner(user))); err != nil {
			tb.Logf("removing the finalizers of %s %s: %v", object.GetKind(), object.GetName(), err)
		}
	}
}
