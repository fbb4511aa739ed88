// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package deletionhooks

import (
	"context"
	"fmt"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/types"
)

// State is what the caller records about a deletion.
type State struct {
	// Stage that was reached.
	Stage inventory.DeletionStage
	// Inventory of the hooks that exist: applied, and not yet removed.
	Inventory []*reconciler.InventoryItem
}

// Engine has the methods of a reconciler.Reconciler that a Runner needs.
type Engine interface {
	// Apply applies objects.
	Apply(ctx context.Context, request reconciler.ApplyRequest) (reconciler.Result, error)
	// Delete deletes the dependents in the inventory of the owner.
	Delete(ctx context.Context, request reconciler.DeleteRequest) (reconciler.Result, error)
}

// Runner applies and removes hooks for one owner.
type Runner struct {
	// Engine is the one that also deletes the dependents. Required.
	Engine Engine
	// Owner is the owner of the dependents, with their inventory. Its Store is not used.
	Owner reconciler.Owner
	// Policies of the owner.
	Policies reconciler.Policies
	// RerunFailed runs failed hooks again, as reconciler.ApplyRequest.RerunFailed does. Defaults to no.
	RerunFailed bool
	// Save records the state. Required.
	Save func(ctx context.Context, state State) error
	// Took receives the result of each call of the engine. Defaults to none.
	Took func(doing Doing, result reconciler.Result)
	// LeftOut receives the hooks that can no longer be applied, because their namespaces are being deleted. Defaults to
	// none.
	LeftOut func(hooks []reconciler.Notice)
}

// Doing says what a step works on.
type Doing int

const (
	// Clearing means that dependents with the names of hooks are being deleted.
	Clearing Doing = iota
	// Applying means that hooks are being applied, or awaited.
	Applying
	// Removing means that hooks are done, and are being removed.
	Removing
)

// Progress is how far a step has come. It is valid also with an error.
type Progress struct {
	// State is to be passed to the next step. It needs to be recorded only when Save is called.
	State State
	// Done means that the hooks are done, and removed.
	Done bool
	// Doing says what the step did last; meaningful only if not Done.
	Doing Doing
	// Result of the last call of the engine; zero if there was none.
	Result reconciler.Result
}

// Step continues with the hooks of a time. It needs the objects only while Time.Wants. Without objects, it removes the
// hooks that exist, without waiting for them.
func (r *Runner) Step(ctx context.Context, at Time, state State, hooks []client.Object) (Progress, error) {
	s := &step{Runner: r, at: at, Progress: Progress{State: state}}
	err := s.run(ctx, hooks)
	return s.Progress, err
}

// step is one call of Step.
type step struct {
	*Runner
	Progress

	at Time
}

func (s *step) run(ctx context.Context, hooks []client.Object) error {
	if s.at.Over(s.State.Stage) {
		s.Done = true
		return nil
	}
	if s.at.Wants(s.State.Stage) {
		if ready, err := s.apply(ctx, hooks); err != nil || !ready {
			return err
		}
		s.State.Stage = s.at.cleanup
		if len(s.State.Inventory) > 0 {
			if err := s.Runner.Save(ctx, s.State); err != nil {
				return fmt.Errorf("recording that %s hooks are done: %w", s.at, err)
			}
		}
	}
	if gone, err := s.remove(ctx); err != nil || !gone {
		return err
	}
	s.State.Stage, s.Done = s.at.end, true
	return nil
}

// apply applies the hooks as if they were all that is wanted.
func (s *step) apply(ctx context.Context, hooks []client.Object) (ready bool, err error) {
	if len(hooks) == 0 {
		return true, nil
	}
	if cleared, err := s.clear(ctx, hooks); err != nil || !cleared {
		return false, err
	}
	s.Doing, s.State.Stage = Applying, s.at.applying
	err = s.applyPossible(ctx, hooks)
	return s.Result.Done, err
}

// clear deletes dependents that are hooks as well, so that these run again. Once the first hook is applied, it does
// nothing.
func (s *step) clear(ctx context.Context, hooks []client.Object) (cleared bool, err error) {
	if s.State.Stage.Reached(s.at.applying) {
		return true, nil
	}
	isHook := func(item *reconciler.InventoryItem) bool {
		return slices.ContainsFunc(hooks, func(hook client.Object) bool { return s.names(hook, item) })
	}
	owner := s.Owner
	owner.Inventory = slices.DeleteFunc(slices.Clone(owner.Inventory), func(item *reconciler.InventoryItem) bool { return !isHook(item) })
	if len(owner.Inventory) == 0 {
		return true, nil
	}
	owner.Store = unchanged{}
	s.Doing = Clearing
	result, err := s.Engine.Delete(ctx, reconciler.DeleteRequest{Owner: owner, Unasked: true})
	s.took(result)
	return result.Done, err
}

// unchanged is a store for dependents that stay recorded until all of them are gone.
type unchanged struct{}

// Save does nothing: recording deleted dependents does no harm.
func (unchanged) Save(context.Context, []*reconciler.InventoryItem) error { return nil }

// applyPossible applies the hooks whose namespaces are not being deleted.
func (s *step) applyPossible(ctx context.Context, hooks []client.Object) error {
	policies := s.Policies
	// Drift of dependents may be tolerated; a hook that is deleted before it is ready must run again.
	policies.Drift = reconciler.DriftPolicyCorrect
	// Adopted objects would be gone after the deletion. An annotation can allow that.
	policies.Adoption = reconciler.AdoptionPolicyNever
	// A namespace that was a dependent must not be created again for a hook, because it would stay.
	policies.MissingNamespaces = reconciler.MissingNamespacesPolicyDoNotCreate
	for {
		result, err := s.Engine.Apply(ctx, reconciler.ApplyRequest{Owner: s.hookOwner(), Objects: hooks, Policies: policies, RunOnce: true, RerunFailed: s.RerunFailed})
		s.tookHooks(result)
		doomed := slices.DeleteFunc(slices.Clone(result.Waits), func(wait reconciler.Notice) bool { return !wait.Doomed })
		possible := slices.DeleteFunc(slices.Clone(hooks), func(hook client.Object) bool {
			return slices.ContainsFunc(doomed, func(wait reconciler.Notice) bool { return s.names(hook, wait.Object) })
		})
		if err != nil || len(possible) == len(hooks) {
			return err
		}
		if s.LeftOut != nil {
			s.LeftOut(doomed)
		}
		hooks = possible
	}
}

// names reports whether a hook is the object of a key, or will be.
func (s *step) names(hook client.Object, key types.ObjectKey) bool {
	return key.GetObjectKind().GroupVersionKind().GroupKind() == hook.GetObjectKind().GroupVersionKind().GroupKind() && key.GetName() == hook.GetName() &&
		(key.GetNamespace() == hook.GetNamespace() || hook.GetNamespace() == "" && key.GetNamespace() == s.Owner.Namespace)
}

// remove removes the hooks that were applied.
func (s *step) remove(ctx context.Context) (gone bool, err error) {
	if len(s.State.Inventory) == 0 {
		return true, nil
	}
	s.Doing = Removing
	result, err := s.Engine.Delete(ctx, reconciler.DeleteRequest{Owner: s.hookOwner(), Unasked: true})
	s.tookHooks(result)
	return result.Done, err
}

// hookOwner returns the owner of the hooks: that of the dependents, with another inventory.
func (s *step) hookOwner() reconciler.Owner {
	owner := s.Owner
	owner.Inventory, owner.Store = s.State.Inventory, s
	return owner
}

// Save records the inventory of hooks, along with the stage; it is the store of the engine.
func (s *step) Save(ctx context.Context, inventory []*reconciler.InventoryItem) error {
	s.State.Inventory = inventory
	return s.Runner.Save(ctx, s.State)
}

func (s *step) tookHooks(result reconciler.Result) {
	s.State.Inventory = result.Inventory
	s.took(result)
}

func (s *step) took(result reconciler.Result) {
	s.Result = result
	if s.Took != nil {
		s.Took(s.Doing, result)
	}
}
