// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package helm_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/version"
	fakediscovery "k8s.io/client-go/discovery/fake"
	clienttesting "k8s.io/client-go/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/generating"
	"github.com/component-operator/runtime/pkg/cluster"
	"github.com/component-operator/runtime/pkg/manifests/helm"
	"github.com/component-operator/runtime/pkg/types"
)

const prefix = "demo.example.io/"

// chartWith returns a chart with the given files in addition to its metadata.
func chartWith(files map[string]string) fstest.MapFS {
	fsys := fstest.MapFS{"Chart.yaml": {Data: []byte("apiVersion: v2\nname: demo\nversion: 1.0.0\n")}}
	for name, content := range files {
		fsys[name] = &fstest.MapFile{Data: []byte(content)}
	}
	return fsys
}

// objectWith returns a template of one object with the given annotations, in pairs of key and value.
func objectWith(annotations ...string) string {
	text := "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: job\n  namespace: shop\n"
	if len(annotations) > 0 {
		text += "  annotations:\n"
	}
	for i := 0; i < len(annotations); i += 2 {
		text += fmt.Sprintf("    %s: %q\n", annotations[i], annotations[i+1])
	}
	return text
}

// targetClient offers nothing but discovery.
func targetClient() cluster.Client {
	discovery := &fakediscovery.FakeDiscovery{Fake: &clienttesting.Fake{}, FakedServerVersion: &version.Info{Major: "1", Minor: "36", GitVersion: "v1.36.3"}}
	return cluster.NewClient(nil, discovery, nil, nil, nil)
}

// state is what the generator learns from its context.
type state struct {
	revision  int64
	installed bool
}

func (s state) context(ctx context.Context) context.Context {
	ctx = generating.ReconcilerName.With(ctx, strings.TrimSuffix(prefix, "/"))
	ctx = generating.Client.With(ctx, targetClient())
	ctx = generating.ComponentRevision.With(ctx, s.revision)
	return generating.Installed.With(ctx, s.installed)
}

func generate(t *testing.T, fsys fstest.MapFS, s state) ([]*unstructured.Unstructured, error) {
	t.Helper()
	generator, err := helm.New(fsys, ".", helm.Options{})
	if err != nil {
		t.Fatal(err)
	}
	objects, err := generator.Generate(s.context(t.Context()), "shop", "web", types.UnstructurableMap{})
	return unwrap(t, objects), err
}

func unwrap(t *testing.T, objects []client.Object) []*unstructured.Unstructured {
	t.Helper()
	var unwrapped []*unstructured.Unstructured
	for _, object := range objects {
		object, ok := object.(*unstructured.Unstructured)
		if !ok {
			t.Fatalf("got an object of type %T", object)
		}
		unwrapped = append(unwrapped, object)
	}
	return unwrapped
}

// mapped returns the reconciler's annotations of the object, without prefix.
func mapped(object *unstructured.Unstructured) map[string]string {
	result := map[string]string{}
	for key, value := range object.GetAnnotations() {
		if suffix, ok := strings.CutPrefix(key, prefix); ok {
			result[suffix] = value
		}
	}
	return result
}
