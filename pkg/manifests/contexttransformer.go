// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/types"
)

// ContextParameterTransformer is a ParameterTransformer that needs the context of the generation: the component, its
// revision, clients. A generator made by NewGenerator calls only TransformParametersContext. Other generators that
// accept transformers may have no context, and call TransformParameters.
type ContextParameterTransformer interface {
	ParameterTransformer
	// TransformParametersContext is TransformParameters with the context that the generator is called with.
	TransformParametersContext(ctx context.Context, namespace string, name string, parameters types.Unstructurable) (types.Unstructurable, error)
}

// ContextObjectTransformer is an ObjectTransformer that needs the context of the generation: the component, its
// revision, clients. A generator made by NewGenerator calls only TransformObjectsContext. Other generators that accept
// transformers may have no context, and call TransformObjects.
type ContextObjectTransformer interface {
	ObjectTransformer
	// TransformObjectsContext is TransformObjects with the context that the generator is called with.
	TransformObjectsContext(ctx context.Context, namespace string, name string, objects []client.Object) ([]client.Object, error)
}

// ContextParameterTransformerFunc is a function used as ContextParameterTransformer. It is not pure.
type ContextParameterTransformerFunc func(ctx context.Context, namespace string, name string, parameters types.Unstructurable) (types.Unstructurable, error)

// ContextObjectTransformerFunc is a function used as ContextObjectTransformer. It is not pure.
type ContextObjectTransformerFunc func(ctx context.Context, namespace string, name string, objects []client.Object) ([]client.Object, error)

var (
	_ ContextParameterTransformer = ContextParameterTransformerFunc(nil)
	_ ContextObjectTransformer    = ContextObjectTransformerFunc(nil)
)

// TransformParametersContext calls the function.
func (f ContextParameterTransformerFunc) TransformParametersContext(
	ctx context.Context, namespace string, name string, parameters types.Unstructurable,
) (types.Unstructurable, error) {
	return f(ctx, namespace, name, parameters)
}

// TransformParameters calls the function with an empty context.
func (f ContextParameterTransformerFunc) TransformParameters(namespace string, name string, parameters types.Unstructurable) (types.Unstructurable, error) {
	return f(context.Background(), namespace, name, parameters)
}

// TransformObjectsContext calls the function.
func (f ContextObjectTransformerFunc) TransformObjectsContext(
	ctx context.Context, namespace string, name string, objects []client.Object,
) ([]client.Object, error) {
	return f(ctx, namespace, name, objects)
}

// TransformObjects calls the function with an empty context.
func (f ContextObjectTransformerFunc) TransformObjects(namespace string, name string, objects []client.Object) ([]client.Object, error) {
	return f(context.Background(), namespace, name, objects)
}

// transformParameters passes the context to transformers that need it.
func transformParameters(
	ctx context.Context, transformer ParameterTransformer, namespace string, name string, parameters types.Unstructurable,
) (types.Unstructurable, error) {
	if contextual, ok := transformer.(ContextParameterTransformer); ok {
		return contextual.TransformParametersContext(ctx, namespace, name, parameters)
	}
	return transformer.TransformParameters(namespace, name, parameters)
}

// transformObjects passes the context to transformers that need it.
func transformObjects(
	ctx context.Context, transformer ObjectTransformer, namespace string, name string, objects []client.Object,
) ([]client.Object, error) {
	if contextual, ok := transformer.(ContextObjectTransformer); ok {
		return contextual.TransformObjectsContext(ctx, namespace, name, objects)
	}
	return transformer.TransformObjects(namespace, name, objects)
}
