// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package sync_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/go-logr/logr/testr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/sync"
)

// gitOps is a program as users of the gitops-engine have one: it brings a namespace to what a repository has.
type gitOps struct {
	config    *rest.Config
	namespace string
	live      func() map[sync.ResourceKey]*unstructured.Unstructured
	info      sync.ResourceInfoProvider
}

// Sync runs one operation to its end.
func (g *gitOps) Sync(ctx context.Context, resources []*unstructured.Unstructured, revision string, opts ...sync.SyncOpt) ([]sync.ResourceSyncResult, error) {
	result := sync.Reconcile(resources, g.live(), g.namespace, g.info)
	var syncCtx sync.SyncContext
	syncCtx, cleanup, err := sync.NewSyncContext(revision, result, g.config, g.namespace, opts...)
	if err != nil {
		return nil, err
	}
	defer cleanup()
	for {
		syncCtx.Sync(ctx)
		phase, message, resources := syncCtx.GetState()
		if phase.Completed() {
			if phase == sync.OperationError {
				err = errors.New(message)
			}
			return resources, err
		}
		if err := syncCtx.Wait(ctx); err != nil {
			syncCtx.Terminate(ctx)
			return resources, err
		}
	}
}

// TestProgram runs a program that was written for the gitops-engine, with all options at once, and with an operation of
// the engine alone.
func TestProgram(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	g := &gitOps{config: w.config, namespace: w.namespace, live: w.live, info: sync.NewResourceInfoProvider(w.client.RESTMapper())}
	propagation := metav1.DeletePropagationBackground
	options := []sync.SyncOpt{
		sync.WithPrunePropagationPolicy(&propagation), sync.WithHealthOverride(health{}), sync.WithInitialState(sync.OperationRunning, "", nil, metav1.Now()),
		sync.WithPermissionValidator(func(*unstructured.Unstructured, *metav1.APIResource) error { return nil }),
		sync.WithResourcesFilter(func(sync.ResourceKey, *unstructured.Unstructured, *unstructured.Unstructured) bool { return true }),
		sync.WithSkipHooks(false), sync.WithPrune(true), sync.WithPruneConfirmed(true), sync.WithOperationSettings(false, true, false, false),
		sync.WithManifestValidation(true), sync.WithPruneLast(true), sync.WithResourceModificationChecker(true, &sync.DiffResultList{}),
		sync.WithLogr(testr.New(t)), sync.WithSyncWaveHook(func(sync.SyncPhase, int, bool) error { return nil }), sync.WithReplace(false),
		sync.WithServerSideApply(false), sync.WithServerSideApplyManager("example"), sync.WithStore(&record{}), sync.WithInventory(nil), sync.WithOwner("one"),
		sync.WithNamespaceModifier(func(*unstructured.Unstructured, *unstructured.Unstructured) (bool, error) { return false, nil }),
	}
	results, err := g.Sync(t.Context(), w.targets(configMap("a")+job("migrate", hookAnnotation, "PreSync")), "one", options...)
	if err != nil {
		t.Fatal(err)
	}
	w.expect([]string{"PreSync hook Job migrate: Synced Succeeded: created", "Sync ConfigMap a: Synced Succeeded: created"}, textsOf(results))
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	if _, err = g.Sync(ctx, w.targets(unending(job("work", hookAnnotation, "Sync"))), "two"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

// TestOperationOfTheEngine runs calls of the engine until nothing is left to be done.
func TestOperationOfTheEngine(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	clnt, err := reconciler.Connect(w.config)
	if err != nil {
		t.Fatal(err)
	}
	engine, err := reconciler.New("example.com", clnt, reconciler.Options{Owner: w.namespace})
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	request := reconciler.ApplyRequest{Owner: reconciler.Owner{ID: w.namespace, Namespace: w.namespace, Store: &record{}}}
	for _, object := range w.targets(job("a")) {
		request.Objects = append(request.Objects, object)
	}
	steps := 0
	operation := &sync.Operation{
		Engine: engine, Owner: w.namespace,
		Call: func(ctx context.Context) (reconciler.Result, error) {
			result, err := engine.Apply(ctx, request)
			request.Inventory = result.Inventory
			return result, err
		},
		Enough: func(reconciler.Result) bool { return false }, IsFinal: func(error) bool { return true },
		Stepped: func(state sync.State) {
			steps++
			if state.Phase != sync.OperationRunning || state.Err != nil || len(state.Result.Waits) != 1 {
				t.Errorf("%+v", state)
			}
		},
	}
	state, err := operation.Run(t.Context())
	if err != nil || state.Phase != sync.OperationSucceeded || steps == 0 {
		t.Errorf("%+v after %d steps, %v", state, steps, err)
	}
	if state = operation.Step(t.Context()); state.Phase != sync.OperationSucceeded {
		t.Errorf("%+v", state)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("enough")
	cancel(stop)
	if err := operation.Wait(ctx, sync.State{}); !errors.Is(err, stop) && err != nil {
		t.Errorf("got %v", err)
	}
}
