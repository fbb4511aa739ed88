// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package generic

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/resources/concepts"
	"github.com/component-operator/runtime/pkg/resources/feature"
)

// Object is a pointer to the Go type T of an object.
type Object[T any] interface {
	*T
	client.Object
}

// Mutation is a named type of a package whose underlying type is that of feature.Mutation.
type Mutation[M any] interface {
	~struct {
		Name    string
		Feature feature.Gate
		Mutate  func(M) error
	}
}

// Kind describes a kind of objects. P is a pointer to its Go type, M its mutator, and S its status.
type Kind[P client.Object, M Mutator, S concepts.Converging] struct {
	schema.GroupVersionKind

	// ClusterScoped means that objects have no namespace.
	ClusterScoped bool
	// AnyScope means that it is not known whether objects have a namespace: it is neither required nor refused.
	AnyScope bool
	// NewMutator returns the mutator of an object that is being made. Required.
	NewMutator func(object P) M
	// Check returns what is wrong with an object, beyond its name and namespace; nil if nothing is. Defaults to no further check.
	Check func(object P) error
	// Applied means that objects are ready when they are applied, as far as the reconciler does not know better. Then ConvergingStatus counts only if a builder sets it.
	Applied bool
	// Defaults are the handlers of resources whose builder has no others.
	Defaults Handlers[P, M, S]
	// AddressStatus replaces ConvergingStatus in builders that say AwaitAddress; nil if there is no such thing as an address for the kind.
	AddressStatus func(op concepts.ConvergingOperation, object P) (S, error)
}

// NewKind returns a kind of namespaced objects that are judged by a function. Its fields can be changed.
func NewKind[P client.Object, M Mutator, S concepts.Converging](
	gvk schema.GroupVersionKind, newMutator func(object P) M, converging func(op concepts.ConvergingOperation, object P) (S, error),
) Kind[P, M, S] {
	return Kind[P, M, S]{GroupVersionKind: gvk, NewMutator: newMutator, Defaults: Handlers[P, M, S]{ConvergingStatus: converging}}
}

// NewAppliedKind returns a kind of namespaced objects that are ready when they are applied. Its fields can be changed.
func NewAppliedKind[P client.Object, M Mutator](gvk schema.GroupVersionKind, newMutator func(object P) M) Kind[P, M, concepts.OperationalStatusWithReason] {
	kind := NewKind(gvk, newMutator, Applied[P])
	kind.Applied = true
	return kind
}

// Handlers are the functions that know the life of a kind of objects. They must not change the object, and must not make requests: they are called whenever the object changes.
type Handlers[P client.Object, M Mutator, S concepts.Converging] struct {
	// ConvergingStatus returns how far the object is. Required as a default.
	ConvergingStatus func(op concepts.ConvergingOperation, object P) (S, error)
	// GraceStatus returns how well the object does its job. Defaults to a status that follows from ConvergingStatus: Healthy if the object is converged, Down if it
	// is failing, and Degraded otherwise.
	GraceStatus func(object P) (concepts.GraceStatusWithReason, error)
	// DeleteOnSuspend reports whether the object is deleted when it is suspended. Defaults to false.
	DeleteOnSuspend func(object P) bool
	// SuspendMutation records what suspends the object. Defaults to nothing.
	SuspendMutation func(mutator M) error
	// SuspensionStatus returns how far the suspension is. Defaults to Suspended.
	SuspensionStatus func(object P) (concepts.SuspensionStatusWithReason, error)
}

// Applied is a ConvergingStatus for objects that work as soon as they exist.
func Applied[P client.Object](concepts.ConvergingOperation, P) (concepts.OperationalStatusWithReason, error) {
	return concepts.OperationalStatusWithReason{Status: concepts.OperationalStatusOperational, Reason: "applied"}, nil
}

// suspends reports whether objects have a suspended form.
func (h Handlers[P, M, S]) suspends() bool {
	return h.DeleteOnSuspend != nil || h.SuspendMutation != nil || h.SuspensionStatus != nil
}

// over returns the handlers, with those of others where there is none.
func (h Handlers[P, M, S]) over(others Handlers[P, M, S]) Handlers[P, M, S] {
	if h.ConvergingStatus == nil {
		h.ConvergingStatus = others.ConvergingStatus
	}
	if h.GraceStatus == nil {
		h.GraceStatus = others.GraceStatus
	}
	if h.DeleteOnSuspend == nil {
		h.DeleteOnSuspend = others.DeleteOnSuspend
	}
	if h.SuspendMutation == nil {
		h.SuspendMutation = others.SuspendMutation
	}
	if h.SuspensionStatus == nil {
		h.SuspensionStatus = others.SuspensionStatus
	}
	return h
}
