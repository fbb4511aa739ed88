// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package sync_test

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/component-operator/runtime/pkg/sync"
)

// deliver brings a namespace to the targets.
func deliver(ctx context.Context, revision string, targets []*unstructured.Unstructured, live map[sync.ResourceKey]*unstructured.Unstructured, namespace string, restConfig *rest.Config, mapper meta.RESTMapper,
	record func(phase sync.OperationPhase, message string, results []sync.ResourceSyncResult),
) error {
	// live are the objects that the program considers its own, by their keys.
	result := sync.Reconcile(targets, live, namespace, sync.NewResourceInfoProvider(mapper))

	operation, cleanup, err := sync.NewSyncContext(revision, result, restConfig, namespace, sync.WithPrune(true))
	if err != nil {
		return err
	}
	defer cleanup()

	for {
		operation.Sync(ctx)
		phase, message, results := operation.GetState()
		record(phase, message, results)
		if phase.Completed() {
			return nil
		}
		if err := operation.Wait(ctx); err != nil {
			return err
		}
	}
}

// resume returns an operation that another process has begun.
func resume(revision string, result sync.ReconciliationResult, restConfig *rest.Config, namespace string, phase sync.OperationPhase, message string, results []sync.ResourceSyncResult, startedAt metav1.Time,
) (sync.SyncContext, func(), error) {
	return sync.NewSyncContext(revision, result, restConfig, namespace,
		sync.WithInitialState(phase, message, results, startedAt))
}

func ExampleNewSyncContext() {
	// A caller has these functions.
	_, _ = deliver, resume
}
