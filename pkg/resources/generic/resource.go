// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package generic

import (
	"fmt"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/manifest"
	"github.com/component-operator/runtime/pkg/resources/concepts"
	"github.com/component-operator/runtime/pkg/resources/feature"
	"github.com/component-operator/runtime/pkg/types"
)

// Resource is an object with the functions for its life. The generator returns it to the reconciler (see
// resources.NewGenerator), which calls its methods at the right time. Hand-written reconcilers may call them, too. A
// Resource must not be used concurrently.
//
// Methods about the state of the object refer to the object that Mutate or RecordObservation got last, and initially to
// the base object.
type Resource[T any, P Object[T], S concepts.Converging] struct {
	base         P
	amend        func(object P, form form) (warnings []string, err error)
	mutations    func() []concepts.MutationState
	converging   func(concepts.ConvergingOperation, P) (S, error)
	grace        func(P) (concepts.GraceStatusWithReason, error)
	deletes      func(P) bool
	suspension   func(P) (concepts.SuspensionStatusWithReason, error)
	guard        func(T) (concepts.GuardStatusWithReason, error)
	extractors   []func(T) error
	registration concepts.Registration

	suspending bool
	observed   P
	warnings   []string
}

// gradeOf derives a grade, with its reason, from a status: Healthy if the object is converged, Down if it is failing,
// and Degraded otherwise. It passes an error on, so it can wrap a call.
func gradeOf(status concepts.Converging, err error) (concepts.GraceStatusWithReason, error) {
	if err != nil {
		return concepts.GraceStatusWithReason{}, err
	}
	_, reason := status.Describe()
	grade := concepts.GraceStatusDegraded
	switch {
	case status.IsConverged():
		grade = concepts.GraceStatusHealthy
	case status.IsFailing():
		grade = concepts.GraceStatusDown
	}
	return concepts.GraceStatusWithReason{Status: grade, Reason: reason}, nil
}

// newResource returns the resource that a builder describes. Later changes to the builder do not affect it.
func newResource[T any, P Object[T], M Mutator, F Mutation[M], S concepts.Converging](b *Builder[T, P, M, F, S]) *Resource[T, P, S] {
	base := copyOf[T](b.base)
	base.GetObjectKind().SetGroupVersionKind(b.kind.GroupVersionKind)
	handlers := manifest.Or(b.handlers, b.kind.Defaults)
	r := &Resource[T, P, S]{
		base: base, guard: b.guard, extractors: slices.Clone(b.extractors), registration: b.registration,
		amend: newAmender(b, handlers.SuspendMutation), mutations: statesOf(slices.Clone(b.mutations)),
		converging: handlers.ConvergingStatus, grace: handlers.GraceStatus, deletes: handlers.DeleteOnSuspend, suspension: handlers.SuspensionStatus,
	}
	for _, extraction := range b.extractions {
		r.registration.Produces = append(slices.Clip(r.registration.Produces), extraction.Cell)
		r.extractors = append(r.extractors, extraction.Extract)
	}
	own := b.handlers
	r.registration.Policies = b.policyAnnotations()
	r.registration.Extracts = len(b.extractors) > 0
	r.registration.Guarded = b.guard != nil
	r.registration.Suspendable = handlers.DeleteOnSuspend != nil || handlers.SuspendMutation != nil || handlers.SuspensionStatus != nil
	r.registration.Custom = own.ConvergingStatus != nil || own.GraceStatus != nil || own.SuspensionStatus != nil
	r.registration.Judged = !b.kind.Applied || own.ConvergingStatus != nil
	r.registration.MayVary = b.guard != nil || len(b.extractors) > 0
	return r
}

func copyOf[T any, P Object[T]](object P) P {
	copied, _ := object.DeepCopyObject().(P)
	return copied
}

// Identity returns version, kind, namespace and name, such as "apps/v1/Deployment/shop/web". The namespace is missing
// for cluster-scoped objects.
func (r *Resource[T, P, S]) Identity() string {
	gvk := r.base.GetObjectKind().GroupVersionKind()
	identity := gvk.GroupVersion().String() + "/" + gvk.Kind + "/"
	if namespace := r.base.GetNamespace(); namespace != "" {
		identity += namespace + "/"
	}
	return identity + r.base.GetName()
}

// Object returns a copy of the base object, with its type.
func (r *Resource[T, P, S]) Object() (client.Object, error) { return copyOf[T](r.base), nil }

// Mutate turns any object of this kind into the desired one: the base object with all mutations whose features are on
// and, after Suspend, with the suspension. Status and server-managed metadata of the given object stay; all its other
// content is lost. If Mutate fails, the object may have some of the mutations.
func (r *Resource[T, P, S]) Mutate(current client.Object) error {
	object, err := r.typed(current)
	if err != nil {
		return err
	}
	mutated := copyOf[T](r.base)
	copyServerFields(mutated, object)
	*object = *mutated
	suspending := r.suspending
	r.suspending = false
	r.observed = object
	return r.Amend(object, suspending)
}

// Amend applies all mutations whose features are on to a manifest without any; if suspended, it then applies the
// suspension.
func (r *Resource[T, P, S]) Amend(manifest client.Object, suspended bool) error {
	if suspended {
		return r.change(manifest, whole)
	}
	return r.change(manifest, active)
}

// AmendSuspended applies the suspension to a manifest that already has all mutations.
func (r *Resource[T, P, S]) AmendSuspended(manifest client.Object) error {
	return r.change(manifest, onlySuspension)
}

func (r *Resource[T, P, S]) change(manifest client.Object, form form) error {
	object, err := r.typed(manifest)
	if err != nil {
		return err
	}
	if r.warnings, err = r.amend(object, form); err != nil {
		return fmt.Errorf("mutating %s: %w", r.text(), err)
	}
	return r.checkIdentity(object)
}

// checkIdentity returns an error if mutations have renamed or moved the object.
func (r *Resource[T, P, S]) checkIdentity(object P) error {
	for _, field := range []struct{ name, want, got string }{
		{"name", r.base.GetName(), object.GetName()}, {"namespace", r.base.GetNamespace(), object.GetNamespace()},
	} {
		if field.got != field.want {
			return fmt.Errorf("mutating %s: metadata.%s is changed to %q; must be %q", r.text(), field.name, field.got, field.want)
		}
	}
	return nil
}

// PreviewObject returns the object with all mutations whose features are on, but not suspended. It changes nothing. It
// fails if two mutations set one field to different values; writing the current value again does not count. Entries of
// ConfigMaps and Secrets are not compared. The error does not contain values of environment variables.
func (r *Resource[T, P, S]) PreviewObject() (P, error) {
	object, _, err := r.Preview()
	previewed, _ := object.(P) // nil if there is an error
	return previewed, err
}

// typed returns an object with the Go type of the resource.
func (r *Resource[T, P, S]) typed(object client.Object) (P, error) {
	if typed, ok := object.(P); ok && typed != nil {
		return typed, nil
	}
	return nil, fmt.Errorf("%s: object has type %T; must be %T", r.text(), object, r.base)
}

// RecordObservation records the object, which must not be changed afterwards.
func (r *Resource[T, P, S]) RecordObservation(object client.Object) error {
	observed, err := r.typed(object)
	if err == nil {
		r.observed = observed
	}
	return err
}

// Warnings returns the warnings of the last mutation: selectors that match no container.
func (r *Resource[T, P, S]) Warnings() []string { return slices.Clone(r.warnings) }

// Registration describes how the resource takes part in a set of resources.
func (r *Resource[T, P, S]) Registration() concepts.Registration { return r.registration }

// ConvergingStatus returns the progress of the object.
func (r *Resource[T, P, S]) ConvergingStatus(op concepts.ConvergingOperation) (S, error) {
	return r.converging(op, r.current())
}

// GraceStatus returns how well the object does its job.
func (r *Resource[T, P, S]) GraceStatus() (concepts.GraceStatusWithReason, error) {
	if r.grace != nil {
		return r.grace(r.current())
	}
	return gradeOf(r.converging(concepts.ConvergingOperationNone, r.current()))
}

// DeleteOnSuspend reports whether the object is deleted when it is suspended.
func (r *Resource[T, P, S]) DeleteOnSuspend() bool {
	return r.deletes != nil && r.deletes(copyOf[T](r.base))
}

// Suspend makes the next call of Mutate produce the suspended form.
func (r *Resource[T, P, S]) Suspend() error {
	r.suspending = true
	return nil
}

// SuspensionStatus returns the progress of the suspension.
func (r *Resource[T, P, S]) SuspensionStatus() (concepts.SuspensionStatusWithReason, error) {
	if r.suspension != nil {
		return r.suspension(r.current())
	}
	return concepts.SuspensionStatusWithReason{Status: concepts.SuspensionStatusSuspended}, nil
}

// GuardStatus calls the guard. Without a guard, it returns Unblocked.
func (r *Resource[T, P, S]) GuardStatus() (concepts.GuardStatusWithReason, error) {
	if r.guard == nil {
		return concepts.GuardStatusWithReason{Status: concepts.GuardStatusUnblocked}, nil
	}
	return r.guard(*copyOf[T](r.base))
}

// ExtractData calls the extractors, in order, with copies of the object. It stops at the first error.
func (r *Resource[T, P, S]) ExtractData() error {
	for _, extract := range r.extractors {
		if err := extract(*copyOf[T](r.current())); err != nil {
			return fmt.Errorf("extracting data of %s: %w", r.text(), err)
		}
	}
	return nil
}

// current returns the object that methods about the state of the object refer to.
func (r *Resource[T, P, S]) current() P {
	if r.observed != nil {
		return r.observed
	}
	return r.base
}

func (r *Resource[T, P, S]) text() string {
	return types.ObjectText(r.base.GetObjectKind().GroupVersionKind().GroupKind(), r.base.GetNamespace(), r.base.GetName())
}

// form defines what is applied to an object.
type form int

const (
	// active means all mutations whose features are on.
	active form = iota
	// whole means active, followed by the suspension.
	whole
	// onlySuspension means only the suspension.
	onlySuspension
	// preview means active, with a check for conflicts between mutations.
	preview
)

// newAmender returns a function that applies the mutations of a builder to an object and returns warnings.
func newAmender[T any, P Object[T], M Mutator, F Mutation[M], S concepts.Converging](b *Builder[T, P, M, F, S], suspend func(M) error) func(P, form) ([]string, error) {
	newMutator, mutations, strict := b.kind.NewMutator, slices.Clone(b.mutations), b.strict
	return func(object P, form form) ([]string, error) {
		mutator, plan := newMutator(object), &Plan{}
		if planned, ok := any(mutator).(interface{ plan() *Plan }); ok { // otherwise, the plan has no effect
			plan = planned.plan()
		}
		plan.strict = strict
		if form == preview {
			before, err := fieldsOf(object)
			if err != nil {
				return nil, err
			}
			check := &conflictCheck{object: object, before: before, writers: map[string]write{}}
			plan.after = check.after
		}
		if form != onlySuspension {
			for i, m := range mutations {
				plan.mutation = mutation{number: i + 1, name: m.Name}
				if err := record(mutator, m); err != nil {
					return nil, fmt.Errorf("mutation %q: %w", m.Name, err)
				}
				mutator.NextFeature()
			}
		}
		if suspend != nil && (form == whole || form == onlySuspension) {
			plan.mutation = mutation{}
			if err := guarded(func() error { return suspend(mutator) }); err != nil {
				return nil, fmt.Errorf("suspension: %w", err)
			}
		}
		err := mutator.Apply()
		return plan.warnings, err
	}
}

// record makes a mutation record its edits if its feature is on.
func record[M Mutator](mutator M, mutation feature.Mutation[M]) error {
	return guarded(func() error {
		if on, err := feature.IsOn(mutation.Feature); err != nil || !on {
			return err
		}
		return mutation.Mutate(mutator)
	})
}

// guarded turns a panic in a function of the author into an error.
func guarded(call func() error) (err error) {
	defer func() {
		if reason := recover(); reason != nil {
			err = fmt.Errorf("panic: %v", reason)
		}
	}()
	return call()
}

// statesOf returns a function that evaluates the gates of mutations.
func statesOf[M any](mutations []feature.Mutation[M]) func() []concepts.MutationState {
	return func() []concepts.MutationState {
		states := make([]concepts.MutationState, len(mutations))
		for i, mutation := range mutations {
			states[i] = concepts.StateOfMutation(mutation.Name, mutation.Feature)
		}
		return states
	}
}

// Mutations returns the states of all mutations, in the order in which they are applied. It evaluates their gates.
func (r *Resource[T, P, S]) Mutations() []concepts.MutationState { return r.mutations() }

// Preview is PreviewObject for callers without the Go type of the object. It also returns the warnings of the
// mutations; the result of Warnings does not change.
func (r *Resource[T, P, S]) Preview() (object client.Object, warnings []string, err error) {
	previewed := copyOf[T](r.base)
	if warnings, err = r.amend(previewed, preview); err != nil {
		return nil, nil, fmt.Errorf("mutating %s: %w", r.text(), err)
	}
	return previewed, warnings, nil
}

// copyServerFields copies some metadata and the status, which only the server and controllers set, between objects of
// the same Go type.
func copyServerFields(to, from client.Object) {
	to.SetUID(from.GetUID())
	to.SetResourceVersion(from.GetResourceVersion())
	to.SetGeneration(from.GetGeneration())
	to.SetCreationTimestamp(from.GetCreationTimestamp())
	to.SetDeletionTimestamp(from.GetDeletionTimestamp())
	to.SetDeletionGracePeriodSeconds(from.GetDeletionGracePeriodSeconds())
	to.SetManagedFields(from.GetManagedFields())
	if given, ok := from.(*unstructured.Unstructured); ok {
		if status, found := given.Object["status"]; found {
			to.(*unstructured.Unstructured).Object["status"] = status //nolint:errcheck,forcetypeassert // the types are the same
		}
		return
	}
	if status := reflect.ValueOf(to).Elem().FieldByName("Status"); status.IsValid() {
		status.Set(reflect.ValueOf(from).Elem().FieldByName("Status"))
	}
}
