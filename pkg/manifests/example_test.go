// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package manifests_test

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/manifests"
	"github.com/component-operator/runtime/pkg/types"
)

// addLabel is an object transformer.
type addLabel struct{ key, value string }

func (a addLabel) TransformObjects(_ string, _ string, objects []client.Object) ([]client.Object, error) {
	for _, object := range objects {
		labels := object.GetLabels()
		if labels == nil {
			labels = map[string]string{}
		}
		labels[a.key] = a.value
		object.SetLabels(labels)
	}
	return objects, nil
}

// A generator may be a plain function.
func ExampleNewGenerator() {
	generate := func(_ context.Context, namespace string, name string, parameters types.Unstructurable) ([]client.Object, error) {
		greeting, _ := parameters.ToUnstructured()["greeting"].(string)
		return []client.Object{&corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
			Data:       map[string]string{"greeting": greeting},
		}}, nil
	}
	generator := manifests.NewGenerator(manifests.GeneratorFunc(generate)).WithObjectTransformer(addLabel{"team", "a"})

	objects, err := generator.Generate(context.Background(), "default", "hello", types.UnstructurableMap{"greeting": "hi"})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, object := range objects {
		fmt.Println(object.GetName(), object.GetLabels(), object.(*corev1.ConfigMap).Data)
	}
	// Output: hello map[team:a] map[greeting:hi]
}

func ExampleMergeMaps() {
	defaults := map[string]any{"image": map[string]any{"name": "web", "tag": "v1"}, "debug": true}
	given := map[string]any{"image": map[string]any{"tag": "v2"}, "debug": nil}
	fmt.Println(manifests.MergeMaps(defaults, given))
	// Output: map[image:map[name:web tag:v2]]
}
