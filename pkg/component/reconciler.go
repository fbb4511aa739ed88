// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	apitypes "k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/component-operator/runtime/pkg/component/internal/queue"
	"github.com/component-operator/runtime/pkg/generator"
)

// HookFunc is called at a certain point of the reconciliation of a component, with the client of the manager. It may
// change the status of the component, but neither metadata nor spec. An error ends the reconciliation; one that wraps a
// types.RetriableError makes the component pending instead of failed. Hooks are called each time the component is
// reconciled, and must be prepared for that.
type HookFunc[T Component] func(ctx context.Context, clnt client.Client, component T) error

// Reconciler reconciles components of type T, which is a pointer to a struct. It is created by NewReconciler and added to
// one manager by SetupWithManager. Hooks must be added before that; everything else may be called concurrently.
type Reconciler[T Component] struct {
	name      string
	generator generator.Generator
	options   ReconcilerOptions
	hooks     typedHooks[T]
	queue     *queue.Wakeups
	worker    *worker
	err       error
}

type typedHooks[T Component] struct {
	postRead, preReconcile, postReconcile, preDelete, postDelete []HookFunc[T]
}

var _ reconcile.Reconciler = &Reconciler[Component]{}

// NewReconciler returns a reconciler that manages what the generator makes of each component. The name is a DNS name which
// is unique in all clusters concerned: it prefixes labels and annotations of dependents, and is the default of finalizer and
// field owner. What is wrong with the arguments is reported by SetupWithManager.
func NewReconciler[T Component](name string, resourceGenerator generator.Generator, options ReconcilerOptions) *Reconciler[T] {
	r := &Reconciler[T]{name: name, generator: resourceGenerator, queue: queue.NewWakeups()}
	completed, err := options.complete(name)
	if resourceGenerator == nil {
		err = errors.Join(err, errors.New("a generator is required"))
	}
	if t := reflect.TypeFor[T](); t.Kind() != reflect.Pointer || t.Elem().Kind() != reflect.Struct {
		err = errors.Join(err, fmt.Errorf("components must be pointers to structs, not %s", t))
	}
	r.options, r.err = completed, err
	return r
}

// WithPostReadHook adds a hook that is called when the component was read and its references were loaded, also while the
// component is being deleted.
func (r *Reconciler[T]) WithPostReadHook(hook HookFunc[T]) *Reconciler[T] {
	r.addHook(&r.hooks.postRead, hook)
	return r
}

// WithPreReconcileHook adds a hook that is called before dependents are generated.
func (r *Reconciler[T]) WithPreReconcileHook(hook HookFunc[T]) *Reconciler[T] {
	r.addHook(&r.hooks.preReconcile, hook)
	return r
}

// WithPostReconcileHook adds a hook that is called when all dependents are ready.
func (r *Reconciler[T]) WithPostReconcileHook(hook HookFunc[T]) *Reconciler[T] {
	r.addHook(&r.hooks.postReconcile, hook)
	return r
}

// WithPreDeleteHook adds a hook that is called before it is checked whether dependents may be deleted. References other
// than those that lead to the target are loaded as far as they exist. It is not called if the component is deleted with the
// propagation policy Orphan.
func (r *Reconciler[T]) WithPreDeleteHook(hook HookFunc[T]) *Reconciler[T] {
	r.addHook(&r.hooks.preDelete, hook)
	return r
}

// WithPostDeleteHook adds a hook that is called when all dependents are gone. It is not called if the target was
// abandoned, nor if the component is deleted with the propagation policy Orphan.
func (r *Reconciler[T]) WithPostDeleteHook(hook HookFunc[T]) *Reconciler[T] {
	r.addHook(&r.hooks.postDelete, hook)
	return r
}

func (r *Reconciler[T]) addHook(hooks *[]HookFunc[T], hook HookFunc[T]) {
	switch {
	case r.worker != nil:
		// The manager may be running already. To ignore the hook would be worse than to stop working.
		r.worker.misused.Store(true)
	case hook == nil:
		r.err = errors.Join(r.err, errors.New("a hook is nil"))
	default:
		*hooks = append(*hooks, hook)
	}
}

// bind adapts hooks to components of any type.
func bind[T Component](typed []HookFunc[T], clnt client.Client) []hook {
	var bound []hook
	for _, run := range typed {
		bound = append(bound, func(ctx context.Context, component Component) error {
			own, ok := component.(T)
			if !ok {
				return fmt.Errorf("unexpected component of type %T", component)
			}
			return run(ctx, clnt, own)
		})
	}
	return bound
}

// errNotSetUp is returned for a reconciler that was not added to a manager.
var errNotSetUp = errors.New("the reconciler is not set up; call SetupWithManager first")

// errLateHook is returned for a reconciler that was given a hook too late.
var errLateHook = errors.New("a hook was added after SetupWithManager; it would never be called")

// Reconcile makes one pass for a component. It is called by the manager.
func (r *Reconciler[T]) Reconcile(ctx context.Context, req ctrl.Request) (result ctrl.Result, err error) {
	if r.worker == nil {
		return ctrl.Result{}, errNotSetUp
	}
	if r.worker.misused.Load() {
		return ctrl.Result{}, errLateHook
	}
	return r.worker.reconcile(ctx, req.NamespacedName)
}

// Trigger has a component reconciled soon. It does not wait. It fails if the reconciler is not running and more than 1024
// components have been triggered meanwhile. With sharding it has no effect on a replica that is not in charge of the component.
func (r *Reconciler[T]) Trigger(namespace string, name string) error {
	return r.queue.Trigger(apitypes.NamespacedName{Namespace: namespace, Name: name})
}
