// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package helm_test

import (
	"fmt"
	"io/fs"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/manifests"
	"github.com/component-operator/runtime/pkg/manifests/helm"
	"github.com/component-operator/runtime/pkg/types"
)

// What follows does not compile if a signature changes that existing operators rely on.
var (
	_ manifests.Generator                                                                                          = &helm.HelmGenerator{}
	_ func(fs.FS, string, client.Client) (*helm.HelmGenerator, error)                                              = helm.NewHelmGenerator
	_ func(fs.FS, string, client.Client, manifests.ObjectTransformer) (manifests.TransformableGenerator, error)    = helm.NewHelmGeneratorWithObjectTransformer
	_ func(fs.FS, string, client.Client, manifests.ParameterTransformer) (manifests.TransformableGenerator, error) = helm.NewHelmGeneratorWithParameterTransformer
	_ func(fs.FS, string, client.Client) (manifests.TransformableGenerator, error)                                 = helm.NewTransformableHelmGenerator
)

// TestDeprecatedConstructors: transformers that are given to them run.
func TestDeprecatedConstructors(t *testing.T) {
	t.Parallel()
	setGiven := parameterFunc(func(types.Unstructurable) (types.Unstructurable, error) {
		return types.UnstructurableMap{"given": "transformed"}, nil
	})
	setName := objectFunc(func(objects []client.Object) ([]client.Object, error) {
		objects[0].SetName("transformed")
		return objects, nil
	})
	withParameters, err := helm.NewHelmGeneratorWithParameterTransformer(releaseChart, ".", nil, setGiven)
	if err != nil {
		t.Fatal(err)
	}
	withObjects, err := helm.NewHelmGeneratorWithObjectTransformer(releaseChart, ".", nil, setName)
	if err != nil {
		t.Fatal(err)
	}
	for generator, want := range map[manifests.Generator]string{withParameters: "release transformed", withObjects: "transformed default"} {
		objects, err := generator.Generate(state{1, false}.context(t.Context()), "shop", "web", nil)
		if err != nil {
			t.Fatal(err)
		}
		object := unwrap(t, objects)[0]
		if got := fmt.Sprint(object.GetName(), " ", object.Object["data"].(map[string]any)["given"]); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
