// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"time"

	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/status"
	"github.com/component-operator/runtime/pkg/types"
)

// target is the engine for one owner of dependents.
type target struct {
	engine *reconciler.Reconciler
	owner  string
	// woken holds a token when something may have changed since the last call of the engine.
	woken chan struct{}
	// seen is called for each object that was written or judged: a call of the engine may write many of them.
	seen func(object types.ObjectKey, found status.Status, message string)
}

// watchDelay is shorter than somebody takes to answer a question.
const watchDelay = time.Second

// target returns an engine for an owner, and begins to observe the dependents that are recorded. It is to be closed.
func (s *Session) target(owner string, recorded []*reconciler.InventoryItem) (*target, error) {
	t := &target{owner: owner, woken: make(chan struct{}, 1), seen: func(types.ObjectKey, status.Status, string) {}}
	var err error
	t.engine, err = reconciler.New(releases.ReconcilerName, s.client, reconciler.Options{
		Owner: owner, WatchDelay: watchDelay, Clock: s.options.Clock,
		OnStatus: func(object types.ObjectKey, found status.Status, message string) { t.seen(object, found, message) },
	})
	if err != nil {
		return nil, err
	}
	t.engine.Subscribe(owner, t.wake)
	var needs []reconciler.Need
	for _, item := range recorded {
		if item.Phase != reconciler.PhaseCompleted {
			needs = append(needs, reconciler.Need{Kind: item.GroupVersionKind(), Namespaces: []string{item.Namespace}})
		}
	}
	t.engine.Watch(owner, needs)
	return t, nil
}

func (t *target) close() { t.engine.Close() }

func (t *target) wake() {
	select {
	case t.woken <- struct{}{}:
	default:
	}
}
