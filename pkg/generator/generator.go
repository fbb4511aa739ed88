// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package generator

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/types"
)

// Generator turns the parameters of a component into the objects that should exist in the cluster.
//
// An implementation may also implement [Pure] and [Suspending], and, if it returns typed objects that the scheme of
// the target client does not have, types.SchemeBuilder.
type Generator interface {
	// Generate returns the objects of a component. Namespace and name are those of its dependents.
	// A namespaced object without a namespace is put into the given one. Generate
	// must not change the parameters; the returned objects belong to the caller. It may be called concurrently.
	//
	// An error that is a types.RetriableError is temporary.
	Generate(ctx context.Context, namespace string, name string, parameters types.Unstructurable) ([]client.Object, error)
}

// Suspending is implemented by generators whose objects have suspended forms (see package behaviors).
type Suspending interface {
	// SuspendsDependents reports whether a suspended component (see component.SuspensionConfiguration) has its
	// dependents suspended. Without it, they are left alone, as they are.
	SuspendsDependents() bool
}

// Conditioned is implemented by generators whose components have a condition that says how well their dependents do
// their job.
type Conditioned interface {
	// Condition returns the type of the condition, such as "Available"; empty if there is none. It is True if all
	// dependents are ready, and False otherwise. The reason says how far they are, and after the grace periods of
	// dependents (see behaviors.Graceful) how well they do their job: Degraded or Down.
	Condition() string
}

// Func is a function used as Generator.
type Func func(ctx context.Context, namespace string, name string, parameters types.Unstructurable) ([]client.Object, error)

var _ Generator = Func(nil)

// Generate calls the function.
func (f Func) Generate(ctx context.Context, namespace string, name string, parameters types.Unstructurable) ([]client.Object, error) {
	return f(ctx, namespace, name, parameters)
}

// Pure is implemented by generators and transformers whose result depends only on the arguments, the
// values in the context, and the discovery information of the target cluster.
type Pure interface {
	// Fingerprint identifies the code and data of the generator: two generators with the same
	// fingerprint return the same for the same input. If it is empty, the generator is not pure,
	// although its type may be.
	Fingerprint() string
}
