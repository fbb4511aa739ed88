// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package kustomize_test

import (
	"context"
	"fmt"
	"testing/fstest"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/manifests"
	"github.com/component-operator/runtime/pkg/manifests/kustomize"
	"github.com/component-operator/runtime/pkg/types"
)

// manifestsFS would usually be an embed.FS.
var manifestsFS = fstest.MapFS{
	"base/kustomization.yaml": {Data: []byte("resources: [config.yaml]\n")},
	"base/config.yaml":        {Data: []byte("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: config\ndata:\n  syntax: '{{ not rendered }}'\n")},
	"app/kustomization.yaml": {Data: []byte(`resources: [../base]
namePrefix: {{ name }}-
patches:
- patch: |-
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: config}
    data: {greeting: {{ .greeting | default "hi" }}}
`)},
}

// show prints what the generator generates. The context is usually the one that the reconciler provides.
func show(generator manifests.Generator, parameters types.Unstructurable) {
	objects, err := generator.Generate(context.Background(), "default", "hello", parameters)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, object := range objects {
		fmt.Println(object.GetName(), object.GetLabels(), object.(*unstructured.Unstructured).Object["data"])
	}
}

func ExampleNew() {
	generator, err := kustomize.New(manifestsFS, "app", kustomize.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	show(generator, types.UnstructurableMap{"greeting": "good morning"})
	// Output: hello-config map[] map[greeting:good morning syntax:{{ not rendered }}]
}

func ExampleNew_withoutTemplates() {
	// What looks like a template in the manifests is none.
	generator, err := kustomize.New(manifestsFS, "base", kustomize.Options{DisableTemplating: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	show(generator, types.UnstructurableMap{})
	// Output: config map[] map[syntax:{{ not rendered }}]
}

func ExampleKustomizeGenerator_WithParameterTransformer() {
	// The spec of the component need not look like the data of the templates.
	translate := parameterFunc(func(parameters types.Unstructurable) (types.Unstructurable, error) {
		return types.UnstructurableMap{"greeting": parameters.ToUnstructured()["message"]}, nil
	})
	generator, err := kustomize.New(manifestsFS, "app", kustomize.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	show(generator.WithParameterTransformer(translate), types.UnstructurableMap{"message": "good evening"})
	// Output: hello-config map[] map[greeting:good evening syntax:{{ not rendered }}]
}

func ExampleKustomizeGenerator_WithObjectTransformer() {
	// Transformers see the objects that Kustomize has built.
	rename := objectFunc(func(objects []client.Object) ([]client.Object, error) {
		for _, object := range objects {
			object.SetName(object.GetName() + "-v1")
		}
		return objects, nil
	})
	generator, err := kustomize.New(manifestsFS, "app", kustomize.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	show(generator.WithObjectTransformer(rename), types.UnstructurableMap{})
	// Output: hello-config-v1 map[] map[greeting:hi syntax:{{ not rendered }}]
}
