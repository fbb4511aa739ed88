// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/reconciler"
)

// owner owns the kinds that no component has asked for yet. No component can have this ID.
const warmupOwner = "*"

// grace is how long after the election the kinds stay watched. Meanwhile, the first passes of the components ask for
// them.
const warmupGrace = 10 * time.Minute

// WarmupOptions configure a Warmup.
type WarmupOptions struct {
	Cache cache.Cache
	// New returns an empty component.
	New func() client.Object
	// Engine watches the local cluster.
	Engine *reconciler.Reconciler
	// Elected is closed on election; the warmup ends Grace later. Nil means never.
	Elected <-chan struct{}
	// Grace defaults to 10 minutes.
	Grace time.Duration
	// Recorded returns the dependents, and their kinds, that the status of a component records in the local cluster.
	Recorded func(component client.Object) ([]*reconciler.InventoryItem, []reconciler.TypeVersionInfo)
	// Judge is called with a component before the kinds of its dependents are watched, so that these are judged by its
	// rules from the beginning.
	Judge func(component client.Object)
}

// Warmup watches the dependents of all components in the local cluster. It is a runnable of a manager.
type Warmup struct {
	Options WarmupOptions

	mu    sync.Mutex
	kinds map[client.ObjectKey]kinds
	// changed has one element if the kinds have changed.
	changed chan struct{}
	// done is closed once the kinds that were recorded at the start are watched.
	done chan struct{}
}

// kinds has types, with the namespaces of their objects.
type kinds map[schema.GroupVersionKind]sets.Set[string]

// NewWarmup returns a warmup that has not begun.
func NewWarmup(options WarmupOptions) *Warmup {
	options.Grace = cmp.Or(options.Grace, warmupGrace)
	return &Warmup{Options: options, kinds: map[client.ObjectKey]kinds{}, changed: make(chan struct{}, 1), done: make(chan struct{})}
}

// Done returns a channel that is closed once the kinds that were recorded at the start are watched.
func (u *Warmup) Done() <-chan struct{} { return u.done }

// NeedLeaderElection returns false: replicas that do not lead need the warmup.
func (u *Warmup) NeedLeaderElection() bool { return false }

// Start runs until the kinds need not be watched any longer.
func (u *Warmup) Start(ctx context.Context) error {
	informer, err := u.Options.Cache.GetInformer(ctx, u.Options.New())
	if err != nil {
		return untilCancelled(ctx, fmt.Errorf("watching the components: %w", err))
	}
	registration, err := informer.AddEventHandler(u.handler())
	if err != nil {
		return untilCancelled(ctx, fmt.Errorf("reading events of components: %w", err))
	}
	defer func() { _ = informer.RemoveEventHandler(registration) }() // fails only if there is nothing to be removed
	if !toolscache.WaitForCacheSync(ctx.Done(), registration.HasSynced) {
		return nil
	}
	u.follow(ctx)
	u.Options.Engine.Forget(warmupOwner)
	return nil
}

// untilCancelled drops an error that is due to the end of the context.
func untilCancelled(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// follow watches the kinds of the components, until some time after the election.
func (u *Warmup) follow(ctx context.Context) {
	started, elected := u.done, u.Options.Elected
	var over <-chan time.Time
	for {
		if u.Options.Engine.Watch(warmupOwner, u.needs())(ctx) != nil {
			return
		}
		if started != nil {
			close(started)
			started = nil
		}
		select {
		case <-u.changed:
		case <-elected:
			elected, over = nil, time.After(u.Options.Grace)
		case <-over:
			return
		case <-ctx.Done():
			return
		}
	}
}

func (u *Warmup) handler() toolscache.ResourceEventHandler {
	return toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { u.seen(object) },
		UpdateFunc: func(_, object any) { u.seen(object) },
		DeleteFunc: func(object any) {
			if unknown, ok := object.(toolscache.DeletedFinalStateUnknown); ok {
				object = unknown.Obj
			}
			if component, ok := object.(client.Object); ok {
				u.record(client.ObjectKeyFromObject(component), nil)
			}
		},
	}
}

func (u *Warmup) seen(object any) {
	if component, ok := object.(client.Object); ok {
		u.Options.Judge(component)
		u.record(client.ObjectKeyFromObject(component), kindsOf(u.Options.Recorded(component)))
	}
}

// record stores the kinds of one component, and updates the watches if they have changed.
func (u *Warmup) record(key client.ObjectKey, found kinds) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if maps.EqualFunc(u.kinds[key], found, sets.Set[string].Equal) {
		return
	}
	u.kinds[key] = found
	if len(found) == 0 {
		delete(u.kinds, key)
	}
	select {
	case u.changed <- struct{}{}:
	default:
	}
}

// needs returns the kinds of all components, up to mostKindsInAll: those that most components have.
func (u *Warmup) needs() []reconciler.Need {
	u.mu.Lock()
	defer u.mu.Unlock()
	united, components := kinds{}, map[schema.GroupVersionKind]int{}
	for _, found := range u.kinds {
		for kind, namespaces := range found {
			united.add(kind, namespaces.UnsortedList()...)
			components[kind]++
		}
	}
	needs := make([]reconciler.Need, 0, len(united))
	for kind, namespaces := range united {
		needs = append(needs, reconciler.Need{Kind: kind, Namespaces: slices.Sorted(maps.Keys(namespaces))})
	}
	slices.SortFunc(needs, func(a, b reconciler.Need) int {
		return cmp.Or(cmp.Compare(components[b.Kind], components[a.Kind]), cmp.Compare(a.Kind.String(), b.Kind.String()))
	})
	return needs[:min(len(needs), mostKindsInAll)]
}

// add adds namespaces to a kind; an empty one means none.
func (k kinds) add(kind schema.GroupVersionKind, namespaces ...string) {
	if k[kind] == nil {
		k[kind] = sets.New[string]()
	}
	k[kind].Insert(namespaces...).Delete("")
}

// mostKinds is the maximum number of kinds of one component that are watched before its first pass. Each kind costs a
// watch, or a request if it does not exist, and a status can be forged.
const mostKinds = 100

// mostKindsInAll is the maximum number of kinds of all components together that are watched before their first passes:
// more than most clusters have.
const mostKindsInAll = 500

// kindsOf returns the recorded kinds, up to mostKinds.
func kindsOf(items []*reconciler.InventoryItem, others []reconciler.TypeVersionInfo) kinds {
	found := kinds{}
	add := func(kind schema.GroupVersionKind, namespaces ...string) {
		if _, known := found[kind]; known || len(found) < mostKinds {
			found.add(kind, namespaces...)
		}
	}
	for _, item := range items {
		if item != nil {
			add(item.GroupVersionKind(), item.GetNamespace())
		}
	}
	for _, kind := range others {
		add(schema.GroupVersionKind(kind))
	}
	return found
}
