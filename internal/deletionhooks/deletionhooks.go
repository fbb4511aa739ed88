// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package deletionhooks applies objects during a deletion, and removes them again: hooks.
//
// # Contract
//
// A deletion goes through stages, and never back: pre-delete hooks are applied, awaited and removed; the caller deletes
// the dependents; post-delete hooks are applied, awaited and removed. [Runner.Step] does as much for the hooks as it
// can without waiting. The caller passes the [State] that the last step returned, or that was saved last, and calls
// again when something has changed.
//
// The stage in which hooks are applied is saved together with the first hook, before the request that creates it. The
// stage after it is saved before the first hook is removed. So a process that dies between any two requests neither
// skips a hook nor runs it twice.
//
// Hooks have the same owner as the dependents, and an inventory of their own. So a hook may be an object that is, or
// was, a dependent.
package deletionhooks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/annotations"
	"github.com/component-operator/runtime/internal/clients"
	"github.com/component-operator/runtime/pkg/behaviors"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/types"
)

// Hook is an object that is applied only during a deletion. Its JSON form can be stored.
type Hook struct {
	// Hook is the time of the hook: pre-delete or post-delete.
	Hook string `json:"hook"`
	// Object lacks the annotation that makes it a hook.
	Object *unstructured.Unstructured `json:"object"`
}

// Check returns an error for a stored hook that Split cannot have returned.
func (h Hook) Check() error {
	if h.Object == nil || h.Object.GetName() == "" {
		return errors.New("does not name an object")
	}
	return nil
}

// Split splits generated objects into regular ones and hooks. The name is the reconciler's name, the prefix of its
// annotations. Split refuses hooks that could not be applied later, with a RefusedError. It does not change the
// objects.
func Split(objects []client.Object, name string, scheme *runtime.Scheme) (regular []client.Object, hooks []Hook, err error) {
	prefix := name + "/"
	isHook := func(object client.Object) bool {
		_, exists := object.GetAnnotations()[prefix+types.AnnotationKeySuffixDeletionHook]
		return exists
	}
	if !slices.ContainsFunc(objects, isHook) {
		return objects, nil, nil
	}
	var problems []string
	known := map[string]bool{}
	for _, object := range objects {
		if !isHook(object) {
			regular = append(regular, object)
			continue
		}
		converted, err := clients.ToUnstructured(object, scheme)
		if err != nil {
			return nil, nil, err
		}
		if names := behaviors.Names(object); len(names) > 0 {
			// Another process may apply it from its stored form.
			problems = append(problems, fmt.Sprintf("%s: is a deletion hook, and cannot have behaviors (%s)", nameOf(converted), strings.Join(names, ", ")))
		}
		hook := Hook{}
		if hook.Object, err = copied(converted); err != nil {
			return nil, nil, err
		}
		hook.Hook, problems = takeHook(hook.Object, prefix, problems)
		identity := hook.Hook + " " + nameOf(hook.Object)
		if known[identity] {
			problems = append(problems, fmt.Sprintf("%s: defined more than once as %s hook", nameOf(hook.Object), hook.Hook))
		}
		known[identity] = true
		hooks = append(hooks, hook)
	}
	if len(problems) > 0 {
		slices.Sort(problems)
		return nil, nil, &reconciler.RefusedError{Problems: problems}
	}
	return regular, hooks, nil
}

// copied returns an object as a later process will read it.
func copied(object *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	raw, err := json.Marshal(object.Object)
	result := &unstructured.Unstructured{}
	if err == nil {
		err = result.UnmarshalJSON(raw)
	}
	if err != nil {
		return nil, fmt.Errorf("copying the deletion hook %s: %w", nameOf(object), err)
	}
	return result, nil
}

// takeHook removes the annotation that makes an object a hook, and returns its value. It appends the problems with the
// object to problems.
func takeHook(object *unstructured.Unstructured, prefix string, problems []string) (hook string, all []string) {
	if object.GetName() == "" {
		problems = append(problems, nameOf(object)+": metadata.name is required")
	}
	values := object.GetAnnotations()
	for _, key := range slices.Sorted(maps.Keys(values)) {
		suffix, ours := strings.CutPrefix(key, prefix)
		if !ours || !slices.Contains(annotations.Suffixes(), suffix) {
			continue
		}
		if err := annotations.Check(suffix, values[key]); err != nil {
			problems = append(problems, fmt.Sprintf("%s: annotation %s: %s", nameOf(object), key, err))
		}
	}
	if _, both := values[prefix+types.AnnotationKeySuffixApplyHook]; both {
		problems = append(problems, fmt.Sprintf("%s: annotation %s: a deletion hook cannot also be an apply hook", nameOf(object), prefix+types.AnnotationKeySuffixApplyHook))
	}
	if _, versioned := values[prefix+types.AnnotationKeySuffixVersioned]; versioned {
		problems = append(problems, fmt.Sprintf("%s: annotation %s: a deletion hook has no versions", nameOf(object), prefix+types.AnnotationKeySuffixVersioned))
	}
	hook, _ = annotations.Policy(types.AnnotationKeySuffixDeletionHook, values[prefix+types.AnnotationKeySuffixDeletionHook])
	delete(values, prefix+types.AnnotationKeySuffixDeletionHook)
	// A failed hook stays until a user deletes it, and then runs again.
	delete(values, prefix+types.AnnotationKeySuffixPurgeOnFailure)
	delete(values, prefix+types.AnnotationKeySuffixDriftPolicy)
	object.SetAnnotations(values)
	return hook, problems
}

// At returns the objects of the hooks for a time.
func At(time Time, hooks []Hook) []client.Object {
	var objects []client.Object
	for _, hook := range hooks {
		if hook.Hook == time.hook {
			objects = append(objects, hook.Object)
		}
	}
	return objects
}

func nameOf(object types.ObjectKey) string {
	return types.ObjectText(object.GetObjectKind().GroupVersionKind().GroupKind(), object.GetNamespace(), object.GetName())
}

// State is the recorded state of a deletion.
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
	// Engine is the engine that also deletes the dependents. Required.
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

// Doing is the current work of a step.
type Doing int

const (
	// Clearing means that dependents with the names of hooks are being deleted.
	Clearing Doing = iota
	// Applying means that hooks are being applied, or awaited.
	Applying
	// Removing means that hooks are done, and are being removed.
	Removing
)

// Progress is the progress of a step. It is valid even with an error.
type Progress struct {
	// State must be passed to the next step. It needs to be recorded only when Save is called.
	State State
	// Done means that the hooks are done, and removed.
	Done bool
	// Doing is the last work of the step; meaningful only if not Done.
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

// apply applies the hooks as the complete set of wanted objects.
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

// Time is the time at which hooks are applied: PreDelete or PostDelete.
type Time struct {
	hook                   string
	applying, cleanup, end inventory.DeletionStage
}

var (
	// PreDelete is before the first dependent is deleted.
	PreDelete = Time{types.DeletionHookPreDelete, inventory.DeletionStagePreDelete, inventory.DeletionStagePreDeleteCleanup, inventory.DeletionStageDependents}
	// PostDelete is after the last dependent is gone.
	PostDelete = Time{types.DeletionHookPostDelete, inventory.DeletionStagePostDelete, inventory.DeletionStagePostDeleteCleanup, inventory.DeletionStageDone}
)

// String returns the value of the annotation, such as "pre-delete".
func (t Time) String() string { return t.hook }

// Wants reports whether the hooks are still to be applied, or awaited.
func (t Time) Wants(stage inventory.DeletionStage) bool { return !stage.Reached(t.cleanup) }

// Over reports whether the hooks are done and removed.
func (t Time) Over(stage inventory.DeletionStage) bool { return stage.Reached(t.end) }
