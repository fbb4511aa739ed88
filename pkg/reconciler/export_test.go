// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/component-operator/runtime/internal/observe"
	"github.com/component-operator/runtime/pkg/cluster"
	"github.com/component-operator/runtime/pkg/reconciler/internal/execute"
)

// SetBarrierPause changes how long barriers must be in force.
func SetBarrierPause(r *Reconciler, pause time.Duration) { r.barrierPause = pause }

// SetStoragePause changes how long API servers take to notice a changed definition.
func SetStoragePause(r *Reconciler, pause time.Duration) { r.storagePause = pause }

// Observer is what a reconciler knows about dependents without asking the server.
type Observer = execute.Observer

// NewObserving returns a reconciler with another observer, which the function makes from the ordinary one.
func NewObserving(name string, clnt cluster.Client, options Options, by func(execute.Observer) execute.Observer) (*Reconciler, error) {
	r, err := New(name, clnt, options)
	if err == nil {
		r.cache.Observer = by(r.cache.Observer)
	}
	return r, err
}

// Blind is the Observer that sees nothing.
type Blind struct{}

// Watch has nothing to wait for.
func (Blind) Watch(context.Context, string, []observe.Need) error { return nil }

// Get knows nothing.
func (Blind) Get(schema.GroupVersionKind, string, string) (observe.Observation, observe.View) {
	return observe.Observation{}, observe.Unseen
}

// Record keeps nothing.
func (Blind) Record(schema.GroupVersionKind, string, string, observe.Observation) {}

// WatchNames has nothing to wait for.
func (Blind) WatchNames(context.Context, string, []observe.Name) error { return nil }

// Version knows nothing.
func (Blind) Version(observe.Name) (string, observe.View) { return "", observe.Unseen }
