// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package isolated_test

import (
	"context"
	"fmt"
	"testing/fstest"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/component-operator/runtime/pkg/manifests"
	"github.com/component-operator/runtime/pkg/manifests/isolated"
	"github.com/component-operator/runtime/pkg/manifests/kustomize"
	"github.com/component-operator/runtime/pkg/types"
)

// manifestsFS would usually be an embed.FS.
var manifestsFS = fstest.MapFS{
	"app/config.yaml": {Data: []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ name }}}\n{{- range $i := .loops }}{{ end }}\n")},
}

// generators are those of the operator, by names.
var generators = map[string]isolated.Definition{
	"shop": {New: func() (manifests.Generator, error) {
		return kustomize.New(manifestsFS, "app", kustomize.Options{})
	}},
}

// ExampleMain belongs into the main function, at its beginning; for tests, into TestMain.
func ExampleMain() {
	program := isolated.Main(generators)
	generator, err := program.NewGenerator("shop", isolated.Options{})
	fmt.Println(generator != nil, err)
	// Output: true <nil>
}

func ExampleProgram_NewGenerator() {
	// The program is what Main has returned.
	for loops, options := range map[int]isolated.Options{
		1:                 {Memory: 256 << 20},
		1_000_000_000_000: {Memory: 256 << 20, Timeout: time.Second},
	} {
		generator, err := program.NewGenerator("example", options)
		if err != nil {
			fmt.Println(err)
			continue
		}
		// The context is usually the one that the reconciler provides.
		objects, err := generator.Generate(context.Background(), "default", "hello", types.UnstructurableMap{"loops": loops})
		if err != nil {
			fmt.Println(err)
			continue
		}
		for _, object := range objects {
			fmt.Println(object.(*unstructured.Unstructured).GetKind(), object.GetName())
		}
	}
	// Unordered output:
	// ConfigMap hello
	// rendering in a process of its own: it was killed, because it took longer than 1s
}
