// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/component-operator/runtime/bench/internal/bundles"
	"github.com/component-operator/runtime/bench/internal/progress"
	"github.com/component-operator/runtime/internal/requests"
	"github.com/component-operator/runtime/pkg/component"
	"github.com/component-operator/runtime/pkg/manifests"
)

// quiet is how long an operator must not have sent anything to count as idle.
const quiet = 200 * time.Millisecond

// An operator is the operator under test, running in this process as it would in one of its own.
type operator struct {
	*connection
	reconciler *component.Reconciler[*bundles.Bundle]
	generator  *bundles.Counter
	// synced is when the components were known.
	synced time.Time

	stop    context.CancelFunc
	stopped chan struct{} // closed when it has stopped
	err     error         // why; to be read after that
	before  float64       // passes of earlier operators of this process

	mu    sync.Mutex
	ready map[client.ObjectKey]int // passes that found all dependents ready
	calls int                      // the sum of them
	news  chan struct{}            // holds an element if ready has changed
}

// startOperator runs the operator with default options until it is shut down, or the case ends. It returns when the operator
// knows the components.
func (l *lab) startOperator(ctx context.Context, generator manifests.Generator) (*operator, error) {
	c, err := l.connect("operator")
	if err != nil {
		return nil, err
	}
	o := &operator{
		connection: c, generator: &bundles.Counter{Generator: generator}, stopped: make(chan struct{}), ready: map[client.ObjectKey]int{}, news: make(chan struct{}, 1),
	}
	scheme, err := newScheme()
	if err != nil {
		return nil, err
	}
	mgr, err := ctrl.NewManager(c.config, ctrl.Options{
		Scheme:     scheme,
		Metrics:    metricsserver.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: new(true)},
	})
	if err != nil {
		return nil, fmt.Errorf("creating the manager: %w", err)
	}
	o.reconciler = component.NewReconciler[*bundles.Bundle](bundles.ReconcilerName, o.generator, component.ReconcilerOptions{}).WithPostReconcileHook(o.noteReady)
	if err := o.reconciler.SetupWithManager(mgr); err != nil {
		return nil, err
	}
	if o.before, err = passes(); err != nil {
		return nil, err
	}
	ctx, o.stop = context.WithCancel(context.WithoutCancel(ctx))
	go func() {
		defer close(o.stopped)
		o.err = mgr.Start(ctx)
	}()
	l.atEnd(o.shutDown)
	informer, err := mgr.GetCache().GetInformer(ctx, &bundles.Bundle{})
	if err != nil {
		return nil, fmt.Errorf("watching components: %w", err)
	}
	for !informer.HasSynced() {
		if err := progress.Pause(ctx, time.Millisecond); err != nil {
			return nil, err
		}
	}
	o.synced = time.Now()
	return o, nil
}

// shutDown stops the operator and waits until it has stopped.
func (o *operator) shutDown() error {
	o.stop()
	<-o.stopped
	if o.err != nil {
		return fmt.Errorf("running the operator: %w", o.err)
	}
	return nil
}

func (o *operator) noteReady(_ context.Context, _ client.Client, bundle *bundles.Bundle) error {
	o.mu.Lock()
	o.ready[client.ObjectKeyFromObject(bundle)]++
	o.calls++
	o.mu.Unlock()
	select {
	case o.news <- struct{}{}:
	default:
	}
	return nil
}

// awaitPasses waits until passes of n components have found them ready, and have ended.
func (o *operator) awaitPasses(ctx context.Context, l *lab, n int) (time.Time, error) {
	ctx, cancel := context.WithTimeout(ctx, waitLimit)
	defer cancel()
	for {
		o.mu.Lock()
		found, calls := len(o.ready), o.calls
		o.mu.Unlock()
		if found >= n {
			return o.awaitEnd(ctx, calls)
		}
		l.Tick("%s: %d of %d components were looked at", l.name, found, n)
		select {
		case <-o.news:
		case <-o.stopped:
			return time.Time{}, fmt.Errorf("the operator has stopped: %w", o.err)
		case <-ctx.Done():
			return time.Time{}, fmt.Errorf("waiting for passes of %d components: %w (%d so far)", n, context.Cause(ctx), found)
		}
	}
}

// awaitEnd waits until so many passes have ended.
func (o *operator) awaitEnd(ctx context.Context, calls int) (time.Time, error) {
	for {
		ended, err := passes()
		if err != nil {
			return time.Time{}, err
		}
		if ended-o.before >= float64(calls) {
			return time.Now(), nil
		}
		if err := progress.Pause(ctx, time.Millisecond); err != nil {
			return time.Time{}, fmt.Errorf("waiting for the end of a pass: %w", err)
		}
	}
}

// passes returns how many passes have ended in this process, as controller-runtime counts them.
func passes() (float64, error) {
	families, err := metrics.Registry.Gather()
	if err != nil {
		return 0, fmt.Errorf("reading metrics: %w", err)
	}
	sum := 0.0
	for _, family := range families {
		if family.GetName() != "controller_runtime_reconcile_total" {
			continue
		}
		for _, metric := range family.GetMetric() {
			for _, label := range metric.GetLabel() {
				if label.GetName() == "controller" && strings.HasPrefix(label.GetValue(), "bundle") {
					sum += metric.GetCounter().GetValue()
				}
			}
		}
	}
	return sum, nil
}

// idle waits until the operator has sent nothing for a moment. It returns the requests since the first n.
func (o *operator) idle(ctx context.Context, n int) ([]requests.Request, error) {
	ctx, cancel := context.WithTimeout(ctx, waitLimit)
	defer cancel()
	for last := -1; ; {
		sent := o.requests.Len()
		if sent == last {
			return o.requests.Since(n), nil
		}
		last = sent
		if err := progress.Pause(ctx, quiet); err != nil {
			return nil, fmt.Errorf("waiting for the operator to be idle: %w", err)
		}
	}
}

// awaitRequest waits for the first request after the first n for which the condition holds, and which was answered.
func (o *operator) awaitRequest(ctx context.Context, what string, n int, condition func(requests.Request) bool) (requests.Request, error) {
	ctx, cancel := context.WithTimeout(ctx, waitLimit)
	defer cancel()
	for {
		for _, r := range o.requests.Since(n) {
			if condition(r) {
				return r, nil
			}
		}
		if err := progress.Pause(ctx, 2*time.Millisecond); err != nil {
			return requests.Request{}, fmt.Errorf("waiting for %s: %w", what, err)
		}
	}
}
