// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package helm_test

import (
	"context"
	"fmt"
	"testing/fstest"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/manifests"
	"github.com/component-operator/runtime/pkg/manifests/helm"
	"github.com/component-operator/runtime/pkg/types"
)

// chart would usually be an embed.FS.
var chart = fstest.MapFS{
	"chart/Chart.yaml":  {Data: []byte("apiVersion: v2\nname: hello\nversion: 1.0.0\n")},
	"chart/values.yaml": {Data: []byte("greeting: hi\n")},
	"chart/templates/config.yaml": {Data: []byte(`apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Release.Name }}
data:
  greeting: {{ .Values.greeting }}
`)},
}

// show prints what the generator generates. The context is usually the one that the reconciler provides.
func show(generator manifests.Generator, parameters types.Unstructurable) {
	ctx := state{revision: 1, installed: false}.context(context.Background())
	objects, err := generator.Generate(ctx, "default", "hello", parameters)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, object := range objects {
		fmt.Println(object.GetName(), object.GetLabels(), object.(*unstructured.Unstructured).Object["data"])
	}
}

func ExampleNew() {
	generator, err := helm.New(chart, "chart", helm.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	show(generator, types.UnstructurableMap{"greeting": "good morning"})
	// Output: hello map[] map[greeting:good morning]
}

func ExampleNew_options() {
	generator, err := helm.New(chart, "chart", helm.Options{
		ReleaseService: "hello-operator",
		// It is what would be given to Helm, too.
		PostRenderer: replacer{from: "greeting: hi", to: "greeting: good day"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	show(generator, types.UnstructurableMap{})
	// Output: hello map[] map[greeting:good day]
}

func ExampleHelmGenerator_WithParameterTransformer() {
	// The spec of the component need not look like the values of the chart.
	translate := parameterFunc(func(parameters types.Unstructurable) (types.Unstructurable, error) {
		return types.UnstructurableMap{"greeting": parameters.ToUnstructured()["message"]}, nil
	})
	generator, err := helm.New(chart, "chart", helm.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	show(generator.WithParameterTransformer(translate), types.UnstructurableMap{"message": "good evening"})
	// Output: hello map[] map[greeting:good evening]
}

func ExampleHelmGenerator_WithObjectTransformer() {
	// Transformers see the objects after Helm's annotations were translated.
	rename := objectFunc(func(objects []client.Object) ([]client.Object, error) {
		for _, object := range objects {
			object.SetName(object.GetName() + "-config")
		}
		return objects, nil
	})
	generator, err := helm.New(chart, "chart", helm.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	show(generator.WithObjectTransformer(rename), types.UnstructurableMap{})
	// Output: hello-config map[] map[greeting:hi]
}
