// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package manifests

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

// GeneratorFunc is a function used as Generator.
type GeneratorFunc func(ctx context.Context, namespace string, name string, parameters types.Unstructurable) ([]client.Object, error)

var _ Generator = GeneratorFunc(nil)

// Generate calls the function.
func (f GeneratorFunc) Generate(ctx context.Context, namespace string, name string, parameters types.Unstructurable) ([]client.Object, error) {
	return f(ctx, namespace, name, parameters)
}

// ParameterTransformer changes parameters before they reach a generator.
//
// An implementation may also implement [ContextParameterTransformer], types.SchemeBuilder and [Pure].
type ParameterTransformer interface {
	// TransformParameters returns the parameters to be used instead of the given ones, which it must not change.
	TransformParameters(namespace string, name string, parameters types.Unstructurable) (types.Unstructurable, error)
}

// ObjectTransformer changes objects after they were generated.
//
// An implementation may also implement [ContextObjectTransformer], types.SchemeBuilder, if it returns typed objects that
// the scheme of the target client does not know otherwise, and [Pure].
type ObjectTransformer interface {
	// TransformObjects returns the objects to be used instead of the given ones. It may change the given
	// objects and the slice, and return them.
	TransformObjects(namespace string, name string, objects []client.Object) ([]client.Object, error)
}

// TransformableGenerator is a Generator to which transformers can be added.
type TransformableGenerator interface {
	Generator
	// WithParameterTransformer appends a transformer, which sees what the ones added before have returned.
	// It changes the receiver, and returns it. It must not be called once Generate was called.
	WithParameterTransformer(transformer ParameterTransformer) TransformableGenerator
	// WithObjectTransformer appends a transformer, which sees what the ones added before have returned.
	// It changes the receiver, and returns it. It must not be called once Generate was called.
	WithObjectTransformer(transformer ObjectTransformer) TransformableGenerator
}

// Pure is implemented by generators and transformers whose result depends on nothing but the arguments, the
// values in the context, and the discovery state of the target cluster.
type Pure interface {
	// Fingerprint identifies the code and data that the generator was made from: two generators with the same
	// fingerprint return the same for the same input. The empty string says that the generator is not pure
	// (although its type may be).
	Fingerprint() string
}

// Decryptor decrypts files before they are used by a generator.
type Decryptor interface {
	// Decrypt returns the plain form of the given content; content that is not encrypted is returned as it
	// is. The path tells where the content was found, slash-separated.
	Decrypt(input []byte, path string) ([]byte, error)
}
