// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package kustomize

import (
	"io/fs"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/manifests"
)

// KustomizeGeneratorOptions are Options.
//
// Deprecated: use Options.
//
//nolint:revive // existing operators use this name
type KustomizeGeneratorOptions = Options

// NewKustomizeGenerator is New. The client is ignored.
//
// Deprecated: use New.
func NewKustomizeGenerator(fsys fs.FS, kustomizationPath string, _ client.Client, options Options) (*KustomizeGenerator, error) {
	return New(fsys, kustomizationPath, options)
}

// NewTransformableKustomizeGenerator is New.
//
// Deprecated: use New.
func NewTransformableKustomizeGenerator(fsys fs.FS, kustomizationPath string, _ client.Client, options Options) (manifests.TransformableGenerator, error) {
	generator, err := New(fsys, kustomizationPath, options)
	if err != nil {
		return nil, err
	}
	return manifests.NewGenerator(generator), nil
}

// NewKustomizeGeneratorWithParameterTransformer is New with a parameter transformer.
//
// Deprecated: use New, and WithParameterTransformer of the generator.
func NewKustomizeGeneratorWithParameterTransformer(
	fsys fs.FS, kustomizationPath string, clnt client.Client, options Options, transformer manifests.ParameterTransformer,
) (manifests.TransformableGenerator, error) {
	generator, err := NewTransformableKustomizeGenerator(fsys, kustomizationPath, clnt, options)
	if err != nil {
		return nil, err
	}
	return generator.WithParameterTransformer(transformer), nil
}

// NewKustomizeGeneratorWithObjectTransformer is New with an object transformer.
//
// Deprecated: use New, and WithObjectTransformer of the generator.
func NewKustomizeGeneratorWithObjectTransformer(
	fsys fs.FS, kustomizationPath string, clnt client.Client, options Options, transformer manifests.ObjectTransformer,
) (manifests.TransformableGenerator, error) {
	generator, err := NewTransformableKustomizeGenerator(fsys, kustomizationPath, clnt, options)
	if err != nil {
		return nil, err
	}
	return generator.WithObjectTransformer(transformer), nil
}
