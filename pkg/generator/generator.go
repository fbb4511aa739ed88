// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package generator

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/types"
)

// Generator turns the parameters of a component into the objects that shall exist in the cluster.
//
// An implementation may also implement types.SchemeBuilder, if it returns typed objects that the scheme of
// the target client does not know otherwise, and [Pure].
type Generator interface {
	// Generate returns the objects of the component whose dependents go by the given namespace and name.
	// An object without a namespace is put into the given one, if its type is namespaced. The parameters
	// must not be changed; the returned objects belong to the caller. It may be called concurrently.
	//
	// An error that is a types.RetriableError says that the reason is expected to go away by itself.
	Generate(ctx context.Context, namespace string, name string, parameters types.Unstructurable) ([]client.Object, error)
}

// Func is a function used as Generator.
type Func func(ctx context.Context, namespace string, name string, parameters types.Unstructurable) ([]client.Object, error)

var _ Generator = Func(nil)

// Generate calls the function.
func (f Func) Generate(ctx context.Context, namespace string, name string, parameters types.Unstructurable) ([]client.Object, error) {
	return f(ctx, namespace, name, parameters)
}

// Pure is implemented by generators and transformers whose result depends on nothing but the arguments, the
// values in the context, and the discovery state of the target cluster.
type Pure interface {
	// Fingerprint identifies the code and data that the generator was made from: two generators with the same
	// fingerprint return the same for the same input. The empty string says that the generator is not pure
	// (although its type may be).
	Fingerprint() string
}
