// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/generator"
	"github.com/component-operator/runtime/pkg/types"
)

// These types are those of package generator, which depends on fewer libraries than this package.
type (
	// Generator is generator.Generator.
	Generator = generator.Generator
	// GeneratorFunc is generator.Func.
	GeneratorFunc = generator.Func
	// Pure is generator.Pure.
	Pure = generator.Pure
)

// ParameterTransformer changes parameters before they reach a generator.
//
// An implementation may also implement [ContextParameterTransformer], types.SchemeBuilder and [Pure].
type ParameterTransformer interface {
	// TransformParameters returns the parameters to use instead of the given ones, which it must not change.
	TransformParameters(namespace string, name string, parameters types.Unstructurable) (types.Unstructurable, error)
}

// ObjectTransformer changes objects after they were generated.
//
// An implementation may also implement [ContextObjectTransformer], [Pure], and, if it returns typed objects that
// the scheme of the target client does not have, types.SchemeBuilder.
type ObjectTransformer interface {
	// TransformObjects returns the objects to use instead of the given ones. It may change the given
	// objects and the slice, and return them.
	TransformObjects(namespace string, name string, objects []client.Object) ([]client.Object, error)
}

// TransformableGenerator is a Generator to which transformers can be added.
type TransformableGenerator interface {
	Generator
	// WithParameterTransformer appends a transformer, which gets the result of the previous one.
	// It changes and returns the receiver. It must not be called after Generate.
	WithParameterTransformer(transformer ParameterTransformer) TransformableGenerator
	// WithObjectTransformer appends a transformer, which gets the result of the previous one.
	// It changes and returns the receiver. It must not be called after Generate.
	WithObjectTransformer(transformer ObjectTransformer) TransformableGenerator
}

// Decryptor decrypts files before a generator uses them.
type Decryptor interface {
	// Decrypt returns the decrypted content, or the given content if it is not encrypted. The path is
	// that of the file, slash-separated.
	Decrypt(input []byte, path string) ([]byte, error)
}
