// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"io/fs"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/manifests"
)

// NewHelmGenerator is New without options. The client is ignored.
//
// Deprecated: use New.
func NewHelmGenerator(fsys fs.FS, chartPath string, _ client.Client) (*HelmGenerator, error) {
	return New(fsys, chartPath, Options{})
}

// NewTransformableHelmGenerator is NewHelmGenerator.
//
// Deprecated: use New.
func NewTransformableHelmGenerator(fsys fs.FS, chartPath string, _ client.Client) (manifests.TransformableGenerator, error) {
	generator, err := New(fsys, chartPath, Options{})
	if err != nil {
		return nil, err
	}
	return manifests.NewGenerator(generator), nil
}

// NewHelmGeneratorWithParameterTransformer is NewHelmGenerator with a parameter transformer.
//
// Deprecated: use New, and WithParameterTransformer of the generator.
func NewHelmGeneratorWithParameterTransformer(
	fsys fs.FS, chartPath string, clnt client.Client, transformer manifests.ParameterTransformer,
) (manifests.TransformableGenerator, error) {
	generator, err := NewTransformableHelmGenerator(fsys, chartPath, clnt)
	if err != nil {
		return nil, err
	}
	return generator.WithParameterTransformer(transformer), nil
}

// NewHelmGeneratorWithObjectTransformer is NewHelmGenerator with an object transformer.
//
// Deprecated: use New, and WithObjectTransformer of the generator.
func NewHelmGeneratorWithObjectTransformer(
	fsys fs.FS, chartPath string, clnt client.Client, transformer manifests.ObjectTransformer,
) (manifests.TransformableGenerator, error) {
	generator, err := NewTransformableHelmGenerator(fsys, chartPath, clnt)
	if err != nil {
		return nil, err
	}
	return generator.WithObjectTransformer(transformer), nil
}
