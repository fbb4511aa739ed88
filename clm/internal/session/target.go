// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/internal/digest"
	"github.com/component-operator/runtime/internal/observe"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/status"
)

// target is the engine for one owner of dependents.
type target struct {
	engine *reconciler.Reconciler
	cache  *observe.Cache
	owner  string
	// woken holds a token when something may have changed since the last call of the engine.
	woken chan struct{}
	// seen is called for each object that was written or judged.
	seen func(gvk schema.GroupVersionKind, namespace, name string, observation observe.Observation)
}

// watchDelay is shorter than somebody takes to answer a question.
const watchDelay = time.Second

// target returns an engine for an owner, and begins to observe the dependents that are recorded. It is to be closed.
func (s *Session) target(owner string, recorded []*reconciler.InventoryItem) (*target, error) {
	t := &target{owner: owner, woken: make(chan struct{}, 1)}
	analyzer := status.NewAnalyzer(releases.ReconcilerName, status.Options{Clock: s.options.Clock})
	var err error
	t.cache, err = observe.New(observe.Options{
		Reader:     reconciler.NewReader(releases.ReconcilerName, releases.ReconcilerName, analyzer, s.options.Clock),
		Config:     s.client.Config(),
		HTTPClient: s.client.HttpClient(),
		Mapper:     s.client.RESTMapper(),
		Owner:      digest.OwnerLabel(owner),
		Delay:      watchDelay,
		Notify:     func(string) { t.wake() },
	})
	if err != nil {
		return nil, err
	}
	t.engine, err = reconciler.New(releases.ReconcilerName, s.client, reconciler.Options{
		Observer: attentive{Cache: t.cache, target: t},
		Analyzer: analyzer,
		Clock:    s.options.Clock,
	})
	if err != nil {
		t.cache.Close()
		return nil, err
	}
	var needs []observe.Need
	for _, item := range recorded {
		if item.Phase != reconciler.PhaseCompleted {
			needs = append(needs, observe.Need{Kind: item.GroupVersionKind(), Namespaces: []string{item.Namespace}})
		}
	}
	t.cache.Begin(digest.OwnerLabel(owner), needs)
	return t, nil
}

func (t *target) close() { t.cache.Close() }

func (t *target) wake() {
	select {
	case t.woken <- struct{}{}:
	default:
	}
}

// attentive is the cache, and tells of each response of a write when it arrives: a call of the engine may make many of them.
type attentive struct {
	*observe.Cache

	target *target
}

// Record tells of the write before the cache knows of it.
func (a attentive) Record(gvk schema.GroupVersionKind, namespace, name string, observation observe.Observation) {
	if a.target.seen != nil {
		a.target.seen(gvk, namespace, name, observation)
	}
	a.Cache.Record(gvk, namespace, name, observation)
}
