// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package kustomize_test

import (
	"fmt"
	"io/fs"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/manifests"
	"github.com/component-operator/runtime/pkg/manifests/kustomize"
	"github.com/component-operator/runtime/pkg/types"
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

// TestDeprecatedConstructors: transformers that are given to them run.
func TestDeprecatedConstructors(t *testing.T) {
	t.Parallel()
	fsys := files{"app/a.yaml": configMap("a", "x: {{ .given }}")}.fs()
	setGiven := parameterFunc(func(types.Unstructurable) (types.Unstructurable, error) {
		return types.UnstructurableMap{"given": "transformed"}, nil
	})
	setName := objectFunc(func(objects []client.Object) ([]client.Object, error) {
		objects[0].SetName("transformed")
		return objects, nil
	})
	withParameters, err := kustomize.NewKustomizeGeneratorWithParameterTransformer(fsys, "app", nil, options{}, setGiven)
	if err != nil {
		t.Fatal(err)
	}
	withObjects, err := kustomize.NewKustomizeGeneratorWithObjectTransformer(fsys, "app", nil, options{}, setName)
	if err != nil {
		t.Fatal(err)
	}
	for generator, want := range map[manifests.Generator]string{withParameters: "a transformed", withObjects: "transformed set"} {
		objects, err := generator.Generate(t.Context(), "shop", "web", types.UnstructurableMap{"given": "set"})
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(objects[0].GetName(), " ", contents(t, objects)[0]["data"].(map[string]any)["x"]); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
