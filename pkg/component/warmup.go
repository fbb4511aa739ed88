// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"reflect"
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

// warmupOwner is the owner of kinds that no component has asked for yet. It is no ID that a component can have.
const warmupOwner = "*"

// warmupGrace is how long after the election the kinds stay observed: meanwhile, the first passes of the components ask for
// them themselves.
const warmupGrace = 10 * time.Minute

// warmup has the dependents of all components in the local cluster observed, also while another replica works on them, so
// that whoever takes over finds everything in memory. It goes by what the statuses record.
type warmup struct {
	cache        cache.Cache
	newComponent func() Component
	// engine observes the local cluster.
	engine *reconciler.Reconciler
	// elected ends the need for it, after grace; nil means never.
	elected <-chan struct{}
	grace   time.Duration

	mu    sync.Mutex
	kinds map[client.ObjectKey]kinds
	// changed holds one element if the kinds have changed.
	changed chan struct{}
	// done is closed when what was recorded at the start is observed.
	done chan struct{}
}

// kinds are types with the namespaces in which there are objects of them.
type kinds map[schema.GroupVersionKind]sets.Set[string]

// newWarmup returns a warmup for the components of the worker.
func (w *worker) newWarmup(engine *reconciler.Reconciler) *warmup {
	return &warmup{
		cache: w.cache, newComponent: w.newComponent, engine: engine, grace: warmupGrace,
		kinds: map[client.ObjectKey]kinds{}, changed: make(chan struct{}, 1), done: make(chan struct{}),
	}
}

// NeedLeaderElection is false: it is for those that do not lead yet.
func (u *warmup) NeedLeaderElection() bool { return false }

// Start runs until the kinds need not be observed any longer.
func (u *warmup) Start(ctx context.Context) error {
	informer, err := u.cache.GetInformer(ctx, u.newComponent())
	if err != nil {
		return untilCancelled(ctx, fmt.Errorf("watching the components: %w", err))
	}
	registration, err := informer.AddEventHandler(u.handler())
	if err != nil {
		return untilCancelled(ctx, fmt.Errorf("following the components: %w", err))
	}
	defer func() { _ = informer.RemoveEventHandler(registration) }() // fails only if there is nothing to be removed
	if !toolscache.WaitForCacheSync(ctx.Done(), registration.HasSynced) {
		return nil
	}
	u.follow(ctx)
	u.engine.Forget(warmupOwner)
	return nil
}

// untilCancelled forgets an error that is due to the end of the context.
func untilCancelled(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// follow observes what the components need, until some time after the election.
func (u *warmup) follow(ctx context.Context) {
	started, elected := u.done, u.elected
	var over <-chan time.Time
	for {
		if u.engine.Watch(warmupOwner, u.needs())(ctx) != nil {
			return
		}
		if started != nil {
			close(started)
			started = nil
		}
		select {
		case <-u.changed:
		case <-elected:
			elected, over = nil, time.After(u.grace)
		case <-over:
			return
		case <-ctx.Done():
			return
		}
	}
}

func (u *warmup) handler() toolscache.ResourceEventHandler {
	return toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { u.seen(object) },
		UpdateFunc: func(_, object any) { u.seen(object) },
		DeleteFunc: func(object any) {
			if unknown, ok := object.(toolscache.DeletedFinalStateUnknown); ok {
				object = unknown.Obj
			}
			if component, ok := object.(Component); ok {
				u.record(client.ObjectKeyFromObject(component), nil)
			}
		},
	}
}

func (u *warmup) seen(object any) {
	if component, ok := object.(Component); ok {
		u.record(client.ObjectKeyFromObject(component), localKinds(component))
	}
}

// record takes over the kinds of one component, and has them observed if they are others than before.
func (u *warmup) record(key client.ObjectKey, found kinds) {
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

// needs unites the kinds of all components, up to mostKindsInAll: of those, the kinds that most components have.
func (u *warmup) needs() []reconciler.Need {
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

// add adds namespaces to a kind; an empty one stands for none.
func (k kinds) add(kind schema.GroupVersionKind, namespaces ...string) {
	if k[kind] == nil {
		k[kind] = sets.New[string]()
	}
	k[kind].Insert(namespaces...).Delete("")
}

// mostKinds is how many kinds of one component are watched before it is reconciled. Each kind costs a watch, or a request if
// there is no such kind, and a status can be forged.
const mostKinds = 100

// mostKindsInAll is how many kinds of all components together are watched before these are reconciled: more than most clusters have.
const mostKindsInAll = 500

// localKinds returns the kinds of the dependents that a component has, provided that they live in the local cluster; up to mostKinds.
func localKinds(component Component) kinds {
	if mayBeRemote(component) {
		return nil
	}
	found := kinds{}
	add := func(kind schema.GroupVersionKind, namespaces ...string) {
		if _, known := found[kind]; known || len(found) < mostKinds {
			found.add(kind, namespaces...)
		}
	}
	for _, item := range component.GetStatus().Inventory {
		if item != nil {
			add(item.GroupVersionKind(), item.GetNamespace())
		}
	}
	if record := component.GetStatus().InventoryRecord; record != nil {
		for _, kind := range record.Kinds {
			add(schema.GroupVersionKind(kind))
		}
	}
	return found
}

// mayBeRemote reports whether dependents may live in another cluster. Unlike scope.isRemote it does without references.
func mayBeRemote(component Component) bool {
	if _, ok := capability[ClientConfiguration](component); !ok {
		return false
	}
	if hasForeignTarget(component) {
		return true
	}
	field := reflect.Indirect(reflect.ValueOf(specOf(component))).FieldByName("ClientSpec")
	spec, ok := field.Interface().(ClientSpec)
	return !ok || spec.KubeConfig != nil
}
