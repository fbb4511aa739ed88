// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package manifests_test

import (
	"context"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/behaviors"
	"github.com/component-operator/runtime/pkg/manifests"
	"github.com/component-operator/runtime/pkg/types"
)

// TestTransformersCanCopy has a generator, and a transformer, return values that copying an object panics about. The
// next transformer gets others.
func TestTransformersCanCopy(t *testing.T) {
	t.Parallel()
	object := func(value any) client.Object {
		return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Thing", "metadata": map[string]any{"name": "a"}, "value": value}}
	}
	generatorOf := func(value any) manifests.TransformableGenerator {
		return manifests.NewGenerator(manifests.GeneratorFunc(func(context.Context, string, string, types.Unstructurable) ([]client.Object, error) {
			return []client.Object{object(value), behaviors.Attach(object(value), behaviors.AtStep(1))}, nil
		}))
	}
	copying := manifests.ContextObjectTransformerFunc(func(_ context.Context, _, _ string, objects []client.Object) ([]client.Object, error) {
		for i := range objects {
			objects[i], _ = objects[i].DeepCopyObject().(client.Object)
		}
		return append(objects, object([]int{1})), nil
	})
	g := generatorOf(map[string]any{"replicas": 2, "names": []string{"x"}}).WithObjectTransformer(copying).WithObjectTransformer(copying)
	objects, err := g.Generate(t.Context(), "default", "a", types.UnstructurableMap{})
	if err != nil {
		t.Fatal(err)
	}
	var got []any
	for _, object := range objects {
		u, _ := behaviors.Bare(object).(*unstructured.Unstructured)
		got = append(got, u.Object["value"])
	}
	plain := map[string]any{"replicas": int64(2), "names": []any{"x"}}
	if diff := cmp.Diff([]any{plain, plain, []any{int64(1)}, []any{int64(1)}}, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if names := behaviors.Names(objects[1]); len(names) != 1 {
		t.Errorf("the behaviors are lost: %v", names)
	}
	_, err = generatorOf(map[string]any{"count": uint64(math.MaxUint64)}).Generate(t.Context(), "default", "a", types.UnstructurableMap{})
	if want := "generated objects: Thing a: value value.count is 18446744073709551615, and integers are from -9223372036854775808 to 9223372036854775807"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("want %q, got %v", want, err)
	}
}
