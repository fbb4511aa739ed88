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

// State is what has to be recorded of a deletion.
type State struct {
	// Stage that was reached.
	Stage inventory.DeletionStage
	// Inventory of the hooks that were applied and not removed again yet.
	Inventory []*reconciler.InventoryItem
}

// Engine is what a Runner needs of a reconciler.Reconciler.
type Engine interface {
	// Apply brings objects into the cluster.
	Apply(ctx context.Context, request reconciler.ApplyRequest) (reconciler.Result, error)
	// Delete deletes what the inventory of the owner records.
	Delete(ctx context.Context, request reconciler.DeleteRequest) (reconciler.Result, error)
}

// Runner applies and removes hooks for one owner.
type Runner struct {
	// Engine that also deletes the dependents. Required.
	Engine Engine
	// Owner of the dependents, with their inventory. Its Store is not used.
	Owner reconciler.Owner
	// Policies of the owner.
	Policies reconciler.Policies
	// Save records the state. Required.
	Save func(ctx context.Context, state State) error
	// Took is given the result of each call of the engine. Defaults to none.
	Took func(doing Doing, result reconciler.Result)
	// LeftOut is told which hooks cannot be applied any more, because their namespaces are being deleted. Defaults to none.
	LeftOut func(hooks []reconciler.Notice)
}

// Doing is what a step is about.
type Doing int

const (
	// Clearing means that dependents go whose names are those of hooks.
	Clearing Doing = iota
	// Applying means that hooks are applied, and awaited.
	Applying
	// Removing means that hooks are done, and go.
	Removing
)

// Progress is how far a step came. It is valid also if there was an error.
type Progress struct {
	// State to be passed to the next step. It has to be recorded only where Save was called.
	State State
	// Done means that the hooks are done, and removed.
	Done bool
	// Doing is what was done at last; meaningful only if not Done.
	Doing Doing
	// Result of the last call of the engine; zero if there was none.
	Result reconciler.Result
}

// Step goes on with the hooks of a time. It needs the objects only as long as Time.Wants; without any, hooks that were applied before are removed
// without being awaited.
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

// apply brings the hooks into the cluster as if they were all that is wanted.
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

// clear deletes dependents that are hooks as well, so that these run anew. It does nothing once the first hook is applied.
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
	result, err := s.Engine.Delete(ctx, reconciler.DeleteRequest{Owner: owner})
	s.took(result)
	return result.Done, err
}

// unchanged is for dependents that are recorded, and stay so until all of them are gone.
type unchanged struct{}

// Save does nothing: what is recorded is more than what there is.
func (unchanged) Save(context.Context, []*reconciler.InventoryItem) error { return nil }

// applyPossible applies hooks without those that belong to namespaces which are being deleted.
func (s *step) applyPossible(ctx context.Context, hooks []client.Object) error {
	policies := s.Policies
	// Others may be allowed to delete dependents; a hook that is deleted before it is ready has to run again.
	policies.Drift = reconciler.DriftPolicyCorrect
	// What is there already would be gone after the deletion. Whoever wants that says so with an annotation.
	policies.Adoption = reconciler.AdoptionPolicyNever
	// A namespace that was a dependent must not come back for a hook, and stay.
	policies.MissingNamespaces = reconciler.MissingNamespacesPolicyDoNotCreate
	for {
		result, err := s.Engine.Apply(ctx, reconciler.ApplyRequest{Owner: s.hookOwner(), Objects: hooks, Policies: policies, RunOnce: true})
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

// names tells whether a hook is, or is going to be, the object of a key.
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
	result, err := s.Engine.Delete(ctx, reconciler.DeleteRequest{Owner: s.hookOwner()})
	s.tookHooks(result)
	return result.Done, err
}

// hookOwner is the owner of the dependents as that of the hooks: the same one, with another inventory.
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
