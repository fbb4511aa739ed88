// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package kustomize_test

import (
	"io/fs"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/manifests"
	"github.com/component-operator/runtime/pkg/manifests/kustomize"
)

// What follows does not compile if a signature changes that existing operators rely on.
var (
	_ manifests.Generator = &kustomize.KustomizeGenerator{}

	_ func(fs.FS, string, client.Client, kustomize.KustomizeGeneratorOptions) (*kustomize.KustomizeGenerator, error) = kustomize.NewKustomizeGenerator

	_ func(fs.FS, string, client.Client, kustomize.KustomizeGeneratorOptions) (manifests.TransformableGenerator, error) = kustomize.NewTransformableKustomizeGenerator

	_ func(
		fs.FS, string, client.Client, kustomize.KustomizeGeneratorOptions, manifests.ObjectTransformer,
	) (manifests.TransformableGenerator, error) = kustomize.NewKustomizeGeneratorWithObjectTransformer

	_ func(
		fs.FS, string, client.Client, kustomize.KustomizeGeneratorOptions, manifests.ParameterTransformer,
	) (manifests.TransformableGenerator, error) = kustomize.NewKustomizeGeneratorWithParameterTransformer

	_ = kustomize.KustomizeGeneratorOptions{
		TemplateSuffix:         (*string)(nil),
		LeftTemplateDelimiter:  (*string)(nil),
		RightTemplateDelimiter: (*string)(nil),
		Decryptor:              manifests.Decryptor(nil),
	}
)
