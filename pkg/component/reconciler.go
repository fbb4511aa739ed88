// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apitypes "k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/component-operator/runtime/pkg/component/internal/queue"
	"github.com/component-operator/runtime/pkg/generator"
	"github.com/component-operator/runtime/pkg/reconciler"
)

// HookFunc is called at a certain point of each reconciliation of a component, with the client of the manager. It may
// change the status of the component, but neither metadata nor spec. An error ends the reconciliation; one that wraps a
// types.RetriableError makes the component Pending instead of Error.
type HookFunc[T Component] func(ctx context.Context, clnt client.Client, component T) error

// Conclusion is what a pass has found out about the dependents of a component. It must not be changed.
type Conclusion struct {
	// Inventory lists all dependents, wherever the status records them.
	Inventory []*reconciler.InventoryItem
	// Result is what the engine has returned last; nil if the pass did not come that far.
	Result *reconciler.Result
	// Plan is what would be done with the dependents of a component that is paused; nil otherwise.
	Plan *reconciler.Plan
	// Err is why the pass has failed; nil if it has not, and if it is repeated because of a types.RetriableError.
	Err error
	// Refusal says why the component, or one of its dependents, is refused; nil if nothing is.
	Refusal *reconciler.RefusedError
	// Archived means that the component is archived, and has no dependents.
	Archived bool
	// Now is the time of the conclusion, in the precision of statuses.
	Now metav1.Time
}

// StatusHookFunc completes the status of a component at the end of a pass, when everything in Status is set, and before
// it is written. It may set fields of the status that are not in Status, and other conditions than those of Status. It
// must not make requests.
//
// It returns the delay after which the component is reconciled at the latest, because the status changes with time;
// zero if it does not.
type StatusHookFunc[T Component] func(component T, conclusion Conclusion) (again time.Duration, err error)

// statusHook is a StatusHookFunc for components of any type.
type statusHook func(component Component, conclusion Conclusion) (time.Duration, error)

// SiblingsFunc returns the siblings of a component: other components of the same reconciler, in the cluster of the
// component, that want some of its objects, and of which one takes over from the other. They are usually revisions of
// the same set. Both sides must say so: if b is newer than a, then a is older than b.
//
// It reads components through the reader, which is a cache at first. If a dependent belongs to a component that is not
// a sibling, the function is called again with a reader that asks the API server, because the cache may lag behind. The
// component must not be changed.
type SiblingsFunc[T Component] func(ctx context.Context, reader client.Reader, component T) (map[apitypes.NamespacedName]reconciler.Relation, error)

// siblingsFunc is a SiblingsFunc for components of any type.
type siblingsFunc func(ctx context.Context, reader client.Reader, component Component) (map[apitypes.NamespacedName]reconciler.Relation, error)

// Reconciler reconciles components of type T, a pointer to a struct. NewReconciler creates it, and SetupWithManager
// adds it to a manager. Hooks must be added before that. All other methods are safe for concurrent use.
type Reconciler[T Component] struct {
	name      string
	generator generator.Generator
	options   ReconcilerOptions
	// The functions of the author are adapted to components of any type.
	hooks       authorHooks
	statusHooks []statusHook
	siblings    siblingsFunc
	waveNames   func(component Component, order int) string
	queue       *queue.Wakeups
	worker      *worker
	err         error
}

var _ reconcile.Reconciler = &Reconciler[Component]{}

// NewReconciler returns a reconciler for the objects that the generator makes of each component. The name is a DNS
// name, unique in all clusters concerned. It is the prefix of labels and annotations of dependents, and the default of
// finalizer and field owner. SetupWithManager returns errors in the arguments.
func NewReconciler[T Component](name string, resourceGenerator generator.Generator, options ReconcilerOptions) *Reconciler[T] {
	r := &Reconciler[T]{name: name, generator: resourceGenerator, queue: queue.NewWakeups()}
	completed, err := options.complete(name)
	if resourceGenerator == nil {
		err = errors.Join(err, errors.New("a generator is required"))
	}
	if t := reflect.TypeFor[T](); t.Kind() != reflect.Pointer || t.Elem().Kind() != reflect.Struct {
		err = errors.Join(err, fmt.Errorf("components must be pointers to structs, not %s", t))
	}
	err = errors.Join(err, checkCondition(resourceGenerator))
	r.options, r.err = completed, err
	return r
}

// WithPostReadHook adds a hook that runs after the component was read and its references were loaded, also while the
// component is being deleted.
func (r *Reconciler[T]) WithPostReadHook(hook HookFunc[T]) *Reconciler[T] {
	return r.addHook(&r.hooks.postRead, hook)
}

// WithPreReconcileHook adds a hook that runs before dependents are generated.
func (r *Reconciler[T]) WithPreReconcileHook(hook HookFunc[T]) *Reconciler[T] {
	return r.addHook(&r.hooks.preReconcile, hook)
}

// WithPostReconcileHook adds a hook that runs at the end of a pass in which all dependents are ready: once when the
// component becomes ready, for each revision; again after a pass that has changed dependents, when labels or
// annotations of the component have changed, when Trigger is called, and after the requeue interval; and once after the
// operator has started. It runs again as long as it fails.
func (r *Reconciler[T]) WithPostReconcileHook(hook HookFunc[T]) *Reconciler[T] {
	return r.addHook(&r.hooks.postReconcile, hook)
}

// WithPreDeleteHook adds a hook that runs before the reconciler checks whether the dependents may be deleted.
// References that are missing then stay empty, except those to the kubeconfig. It does not run if the component is
// deleted with the propagation policy Orphan.
func (r *Reconciler[T]) WithPreDeleteHook(hook HookFunc[T]) *Reconciler[T] {
	return r.addHook(&r.hooks.preDelete, hook)
}

// WithPostDeleteHook adds a hook that runs when all dependents are gone. It runs neither if the target was abandoned,
// nor if the component is deleted with the propagation policy Orphan.
func (r *Reconciler[T]) WithPostDeleteHook(hook HookFunc[T]) *Reconciler[T] {
	return r.addHook(&r.hooks.postDelete, hook)
}

// WithStatusHook adds a hook that completes the status of a component. It runs in each pass except the last one of a
// component that is being deleted. After an error the status is written as it is, and the pass is repeated.
func (r *Reconciler[T]) WithStatusHook(hook StatusHookFunc[T]) *Reconciler[T] {
	return r.add(hook == nil, func() {
		r.statusHooks = append(r.statusHooks, func(component Component, conclusion Conclusion) (time.Duration, error) {
			own, err := ownOf[T](component)
			if err != nil {
				return 0, err
			}
			return hook(own, conclusion)
		})
	})
}

// WithSiblings sets the function that returns the siblings of a component. The author has to call Trigger when a
// sibling appears, goes, or changes its relation. Defaults to none.
func (r *Reconciler[T]) WithSiblings(find SiblingsFunc[T]) *Reconciler[T] {
	return r.add(find == nil, func() {
		r.siblings = func(ctx context.Context, reader client.Reader, component Component) (map[apitypes.NamespacedName]reconciler.Relation, error) {
			own, err := ownOf[T](component)
			if err != nil {
				return nil, err
			}
			return find(ctx, reader, own)
		}
	})
}

// WithWaveNames sets the function that names the waves of a component in its messages and events, such as `phase
// "database"`. The order is the apply order of the wave or, where dependents are being deleted, its delete order. The
// function cannot tell them apart, so it should return names only if both mean the same, as they do with
// [reconciler.DeleteOrderReversed] and apply orders from 0 on: a delete order is then the negative of an apply order.
// Waves without a name, which is the default, are called "wave 1" and so on; so are those of deletion hooks, and those
// in errors of the engine.
func (r *Reconciler[T]) WithWaveNames(name func(component T, order int) string) *Reconciler[T] {
	return r.add(name == nil, func() {
		r.waveNames = func(component Component, order int) string {
			own, err := ownOf[T](component)
			if err != nil {
				return ""
			}
			return name(own, order)
		}
	})
}

func (r *Reconciler[T]) addHook(hooks *[]hook, run HookFunc[T]) *Reconciler[T] {
	return r.add(run == nil, func() {
		*hooks = append(*hooks, func(ctx context.Context, clnt client.Client, component Component) error {
			own, err := ownOf[T](component)
			if err != nil {
				return err
			}
			return run(ctx, clnt, own)
		})
	})
}

// add adds a hook, or another function of the author.
func (r *Reconciler[T]) add(isNil bool, add func()) *Reconciler[T] {
	switch {
	case r.worker != nil:
		// The manager may be running already. Failing is better than ignoring the function.
		r.worker.misused.Store(true)
	case isNil:
		r.err = errors.Join(r.err, errors.New("a hook is nil"))
	default:
		add()
	}
	return r
}

// ownOf returns a component as one of the author's type.
func ownOf[T Component](component Component) (T, error) {
	own, ok := component.(T)
	if !ok {
		return own, fmt.Errorf("unexpected component of type %T", component)
	}
	return own, nil
}

// errNotSetUp is the error of a reconciler without a manager.
var errNotSetUp = errors.New("the reconciler is not set up; call SetupWithManager first")

// errLateHook is the error of a reconciler that got a hook after SetupWithManager.
var errLateHook = errors.New("a hook was added after SetupWithManager; it would never be called")

// Trigger schedules a pass of a component, and returns at once. It fails if the reconciler is not running and more than
// 1024 components have been triggered. With sharding, it has no effect on a replica that does not hold the shard of the
// component.
func (r *Reconciler[T]) Trigger(namespace string, name string) error {
	key := apitypes.NamespacedName{Namespace: namespace, Name: name}
	if r.worker != nil {
		r.worker.memories.noteTrigger(key)
	}
	return r.queue.Trigger(key)
}
