// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package helm_test

import (
	"io/fs"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/manifests"
	"github.com/component-operator/runtime/pkg/manifests/helm"
)

// What follows does not compile if a signature changes that existing operators rely on.
var (
	_ manifests.Generator                                                                                          = &helm.HelmGenerator{}
	_ func(fs.FS, string, client.Client) (*helm.HelmGenerator, error)                                              = helm.NewHelmGenerator
	_ func(fs.FS, string, client.Client, manifests.ObjectTransformer) (manifests.TransformableGenerator, error)    = helm.NewHelmGeneratorWithObjectTransformer
	_ func(fs.FS, string, client.Client, manifests.ParameterTransformer) (manifests.TransformableGenerator, error) = helm.NewHelmGeneratorWithParameterTransformer
	_ func(fs.FS, string, client.Client) (manifests.TransformableGenerator, error)                                 = helm.NewTransformableHelmGenerator
)
