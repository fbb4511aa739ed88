// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/component-operator/runtime/internal/requests"
	"github.com/component-operator/runtime/pkg/component"
)

// quiet is how long an operator must send nothing to count as idle.
const quiet = 200 * time.Millisecond

// usual is the spec of the components for measuring speed.
var usual = BundleSpec{Dependents: manyDependents, PayloadBytes: dependentBytes}

// An operator is the operator under test. It runs in this process as if in its own.
type operator struct {
	*lab
	*connection
	synced time.Time // when the components were known
	stop   func() error
	ended  chan error

	mu     sync.Mutex
	passed map[string]bool // the components of which a pass has found all dependents ready
}

// startOperator runs the operator with default options. It returns when the operator has observed the components.
func (l *lab) startOperator(ctx context.Context) (*operator, error) {
	c, err := l.connect("operator")
	if err != nil {
		return nil, err
	}
	o := &operator{lab: l, connection: c, ended: make(chan error, 1), passed: map[string]bool{}}
	mgr, err := ctrl.NewManager(c.config, ctrl.Options{
		Scheme: c.client.Scheme(), Metrics: metricsserver.Options{BindAddress: "0"}, Controller: config.Controller{SkipNameValidation: new(true)},
	})
	if err != nil {
		return nil, fmt.Errorf("creating the manager: %w", err)
	}
	reconciler := component.NewReconciler[*Bundle](reconcilerName, bundleGenerator{}, component.ReconcilerOptions{}).WithPostReconcileHook(o.note)
	if err := reconciler.SetupWithManager(mgr); err != nil {
		return nil, err
	}
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	o.stop = sync.OnceValue(func() error {
		stop()
		return <-o.ended
	})
	go func() { o.ended <- mgr.Start(running) }()
	l.atEnd(o.stop)
	informer, err := mgr.GetCache().GetInformer(ctx, &Bundle{})
	for err == nil && !informer.HasSynced() {
		err = pause(ctx, time.Millisecond)
	}
	o.synced = time.Now()
	return o, err
}

func (o *operator) note(_ context.Context, _ client.Client, bundle *Bundle) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.passed[bundle.Name] = true
	return nil
}

// awaitPasses waits until passes of n components have found them ready.
func (o *operator) awaitPasses(ctx context.Context, n int) (time.Time, error) {
	found := 0
	err := wait.PollUntilContextTimeout(ctx, time.Millisecond, waitLimit, true, func(context.Context) (bool, error) {
		o.mu.Lock()
		defer o.mu.Unlock()
		found = len(o.passed)
		return found >= n, nil
	})
	if err != nil {
		return time.Time{}, fmt.Errorf("waiting for passes of %d components: %w (%d so far)", n, err, found)
	}
	return time.Now(), nil
}

// idle waits until the operator has sent nothing for a moment. It returns the requests after the first n.
func (o *operator) idle(ctx context.Context, n int) ([]requests.Request, error) {
	for last := -1; o.requests.Len() != last; {
		last = o.requests.Len()
		if err := pause(ctx, quiet); err != nil {
			return nil, err
		}
	}
	return o.requests.Since(n), nil
}

// awaitRequest waits for the first request, after the first n, that meets the condition.
func (o *operator) awaitRequest(ctx context.Context, n int, condition func(requests.Request) bool) (found requests.Request, err error) {
	err = wait.PollUntilContextTimeout(ctx, 2*time.Millisecond, waitLimit, true, func(context.Context) (bool, error) {
		list := o.requests.Since(n)
		i := slices.IndexFunc(list, condition)
		if i >= 0 {
			found = list[i]
		}
		return i >= 0, nil
	})
	if err != nil {
		return found, fmt.Errorf("waiting for a request of the operator: %w", err)
	}
	return found, nil
}

// observe calls act, and returns the time until a watch shows the expected state of a component.
func (l *lab) observe(ctx context.Context, name string, act func() error, expected func(watch.Event, *Bundle) bool) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, waitLimit)
	defer cancel()
	stream, err := l.bench.client.Watch(ctx, &BundleList{}, client.InNamespace(l.namespace), client.MatchingFields{"metadata.name": name})
	if err != nil {
		return 0, fmt.Errorf("watching %s: %w", name, err)
	}
	defer stream.Stop()
	started := time.Now()
	if err := act(); err != nil {
		return 0, err
	}
	for event := range stream.ResultChan() {
		if seen, ok := event.Object.(*Bundle); ok && expected(event, seen) {
			return time.Since(started), nil
		}
	}
	return 0, fmt.Errorf("waiting for %s: the watch has ended: %w", name, context.Cause(ctx))
}

// newBundle returns a component for the case.
func (l *lab) newBundle(name string, spec BundleSpec) *Bundle {
	return &Bundle{ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: name}, Spec: spec}
}

// create creates a component, and returns the time until it is ready.
func (l *lab) create(ctx context.Context, name string, spec BundleSpec) (time.Duration, error) {
	return l.observe(ctx, name, func() error { return l.bench.client.Create(ctx, l.newBundle(name, spec)) },
		func(_ watch.Event, seen *Bundle) bool {
			return seen.Status.ObservedGeneration == seen.Generation && seen.Status.IsReady()
		})
}

// remove deletes a component, and returns the time until it is gone.
func (l *lab) remove(ctx context.Context, name string) (time.Duration, error) {
	return l.observe(ctx, name, func() error { return l.bench.client.Delete(ctx, l.newBundle(name, BundleSpec{})) },
		func(event watch.Event, _ *Bundle) bool { return event.Type == watch.Deleted })
}

// startMany starts an operator, creates n components, and waits until all are ready and the operator is idle.
func (l *lab) startMany(ctx context.Context, n int, spec BundleSpec) (*operator, error) {
	o, err := l.startOperator(ctx)
	if err != nil {
		return nil, err
	}
	err = parallel(ctx, n, func(ctx context.Context, i int) error {
		_, err := l.create(ctx, dependentName(l.name, i), spec)
		return err
	})
	if err == nil {
		_, err = o.idle(ctx, 0)
	}
	return o, err
}

// isDependent reports whether the request is for the type of the dependents, and not for events, leases or components.
func isDependent(r requests.Request) bool { return r.Resource == "configmaps" }

// isDependentWrite excludes ConfigMaps with an inventory: their names end with a digest, not with a small number.
func isDependentWrite(r requests.Request) bool {
	number, err := strconv.Atoi(r.Name[strings.LastIndex(r.Name, "-")+1:])
	return err == nil && number < 1_000_000 && isDependent(r) && r.IsWrite()
}

func isDependentRead(r requests.Request) bool { return isDependent(r) && !r.IsWrite() && !r.IsWatch() }

func isEvent(r requests.Request) bool { return r.Resource == "events" }

func isLease(r requests.Request) bool { return r.Resource == "leases" }

func isOther(r requests.Request) bool {
	return !isDependentWrite(r) && !isDependentRead(r) && !isEvent(r) && !isLease(r)
}

// tally returns the number of requests that meet the condition.
func tally(list []requests.Request, condition func(requests.Request) bool) int {
	return len(slices.DeleteFunc(slices.Clone(list), func(r requests.Request) bool { return !condition(r) }))
}

// traffic contains the number of an operator's requests in each repetition.
type traffic struct{ writes, reads, others, events []int }

func (t *traffic) add(list []requests.Request) {
	t.writes, t.reads = append(t.writes, tally(list, isDependentWrite)), append(t.reads, tally(list, isDependentRead))
	t.others, t.events = append(t.others, tally(list, isOther)), append(t.events, tally(list, isEvent))
}
