// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	parceloperator "github.com/component-operator/runtime/examples/parcel-operator"
	"github.com/component-operator/runtime/internal/requests"
	"github.com/component-operator/runtime/pkg/component"
)

// An operator is the parcel operator, running in this process.
type operator struct {
	requests *requests.Recorder
	stop     context.CancelFunc
	stopped  chan struct{} // closed when it has stopped
	err      error         // why it has stopped; valid after that
}

// startOperator starts the operator as its own program does, but without metrics and probes. It runs until shutDown,
// even if the context ends before.
func startOperator(ctx context.Context, config *rest.Config) (*operator, error) {
	o := &operator{requests: &requests.Recorder{}, stopped: make(chan struct{})}
	mgr, err := ctrl.NewManager(countedBy(o.requests, config), ctrl.Options{
		Scheme:  parceloperator.NewScheme(),
		Metrics: metricsserver.Options{BindAddress: "0"},
	})
	if err != nil {
		return nil, fmt.Errorf("creating the manager: %w", err)
	}
	if err := parceloperator.SetupWithManager(mgr, component.ReconcilerOptions{}); err != nil {
		return nil, err
	}
	ctx, o.stop = context.WithCancel(context.WithoutCancel(ctx))
	go func() {
		defer close(o.stopped)
		o.err = mgr.Start(ctx)
	}()
	return o, nil
}

// shutDown stops the operator and waits until it has stopped.
func (o *operator) shutDown() error {
	o.stop()
	<-o.stopped
	return o.err
}

// failure returns an error if the operator has stopped.
func (o *operator) failure() error {
	select {
	case <-o.stopped:
		return errors.Join(errors.New("the operator has stopped"), o.err)
	default:
		return nil
	}
}
