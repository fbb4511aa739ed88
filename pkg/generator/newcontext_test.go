// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package generator_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/generating"
	"github.com/component-operator/runtime/pkg/cluster"
	"github.com/component-operator/runtime/pkg/generator"
	"github.com/component-operator/runtime/pkg/types"
)

// A program without custom resources calls a generator, and could hand the objects to an engine of package reconciler.
func ExampleNewContext() {
	greet := generator.Func(func(ctx context.Context, namespace, name string, _ types.Unstructurable) ([]client.Object, error) {
		revision, err := generator.ComponentRevisionFromContext(ctx)
		if err != nil {
			return nil, err
		}
		greeting := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
		greeting.Data = map[string]string{"revision": fmt.Sprint(revision)}
		return []client.Object{greeting}, nil
	})
	ctx := generator.NewContext(context.Background(), generator.Surroundings{ReconcilerName: "hello.example.io", ComponentRevision: 3})
	objects, err := greet.Generate(ctx, "default", "hello", types.UnstructurableMap{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(objects[0].GetName(), objects[0].(*corev1.ConfigMap).Data)
	// Output: hello map[revision:3]
}

// A unit test calls a generator without a cluster. It sets what the generator asks for; here, that is the name of the
// reconciler, for an annotation.
func ExampleNewContext_unitTest() {
	ctx := generator.NewContext(context.Background(), generator.Surroundings{
		ReconcilerName:    "hello.example.io",
		ComponentName:     "sample",
		ComponentRevision: 1,
	})
	objects, err := hello.Generate(ctx, "default", "sample", types.UnstructurableMap{"whom": "world"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(objects[0].GetName(), objects[0].GetAnnotations())
	// Output: sample map[hello.example.io/apply-order:1]
}

// hello is the generator of the example.
var hello = generator.Func(func(ctx context.Context, namespace, name string, parameters types.Unstructurable) ([]client.Object, error) {
	reconciler, err := generator.ReconcilerNameFromContext(ctx)
	if err != nil {
		return nil, err
	}
	greeting := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: name, Annotations: map[string]string{reconciler + "/" + types.AnnotationKeySuffixApplyOrder: "1"},
	}}
	greeting.Data = map[string]string{"text": fmt.Sprintf("Hello, %s!", parameters.ToUnstructured()["whom"])}
	return []client.Object{greeting}, nil
})

func TestNewContext(t *testing.T) {
	t.Parallel()
	local, target := cluster.NewClient(nil, nil, nil, nil, nil), cluster.NewClient(nil, nil, nil, nil, nil)
	component := &corev1.ConfigMap{}
	notNow := errors.New("not now")
	full := generator.NewContext(t.Context(), generator.Surroundings{
		ReconcilerName:     "demo.example.io",
		Client:             target,
		LocalClient:        local,
		Discovery:          func(context.Context) (*cluster.Discovery, error) { return nil, notNow },
		Component:          component,
		ComponentNamespace: "namespace",
		ComponentName:      "name",
		ComponentDigest:    "digest",
		ComponentRevision:  7,
		Installed:          true,
		ReleaseHooks:       true,
	})
	nothing := generator.NewContext(t.Context(), generator.Surroundings{})
	for name, get := range map[string]struct {
		want, unset any // nil: an error
		get         func(ctx context.Context) (any, error)
	}{
		"reconciler name":     {"demo.example.io", "", func(ctx context.Context) (any, error) { return generator.ReconcilerNameFromContext(ctx) }},
		"client":              {target, nil, func(ctx context.Context) (any, error) { return generator.ClientFromContext(ctx) }},
		"local client":        {local, nil, func(ctx context.Context) (any, error) { return generator.LocalClientFromContext(ctx) }},
		"component":           {component, nil, func(ctx context.Context) (any, error) { return generator.ComponentFromContext(ctx) }},
		"component namespace": {"namespace", "", func(ctx context.Context) (any, error) { return generator.ComponentNamespaceFromContext(ctx) }},
		"component name":      {"name", "", func(ctx context.Context) (any, error) { return generator.ComponentNameFromContext(ctx) }},
		"component digest":    {"digest", "", func(ctx context.Context) (any, error) { return generator.ComponentDigestFromContext(ctx) }},
		"component revision":  {int64(7), int64(0), func(ctx context.Context) (any, error) { return generator.ComponentRevisionFromContext(ctx) }},
	} {
		if got, err := get.get(full); err != nil || got != get.want {
			t.Errorf("%s: got %v, error %v; want %v", name, got, err, get.want)
		}
		switch got, err := get.get(nothing); {
		case get.unset == nil && err == nil:
			t.Errorf("%s: want an error if it is not set, got %v", name, got)
		case get.unset != nil && (err != nil || got != get.unset):
			t.Errorf("%s: got %v, error %v if it is not set; want %v", name, got, err, get.unset)
		}
	}
	if _, err := generator.DiscoveryFromContext(full); !errors.Is(err, notNow) {
		t.Errorf("discovery was not asked for: got error %v", err)
	}
	for _, tt := range []struct {
		ctx  context.Context
		want bool
	}{{full, true}, {nothing, false}} {
		if got, err := generator.InstalledFromContext(tt.ctx); err != nil || got != tt.want {
			t.Errorf("installed: got %t, error %v; want %t", got, err, tt.want)
		}
		if got := generator.ReleaseHooksFromContext(tt.ctx); got != tt.want {
			t.Errorf("release hooks: got %t, want %t", got, tt.want)
		}
	}
}

// TestInstalledByDefault: a component of which only the revision is known counts as installed if that is not the first
// one.
func TestInstalledByDefault(t *testing.T) {
	t.Parallel()
	for revision, want := range map[int64]bool{1: false, 2: true} {
		if got, err := generator.InstalledFromContext(generating.ComponentRevision.With(t.Context(), revision)); err != nil || got != want {
			t.Errorf("revision %d: got %t, %v", revision, got, err)
		}
	}
	if _, err := generator.InstalledFromContext(t.Context()); err == nil {
		t.Error("want an error without a revision")
	}
}

func TestAnnotate(t *testing.T) {
	t.Parallel()
	ctx := generator.NewContext(t.Context(), generator.Surroundings{ReconcilerName: "demo.example.io"})
	shared := map[string]string{"a": "b"}
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "settings", Annotations: shared}}
	if err := generator.Annotate(ctx, object, types.AnnotationKeySuffixApplyOrder, "-5"); err != nil || object.Annotations["demo.example.io/apply-order"] != "-5" || object.Annotations["a"] != "b" || len(shared) != 1 {
		t.Errorf("got %v, %v, %v", object.Annotations, shared, err)
	}
	for want, call := range map[string]func() error{
		"reconciler name not found in context": func() error { return generator.Annotate(t.Context(), object, "apply-order", "1") },
		"the reconciler has no name; set Surroundings.ReconcilerName of generator.NewContext": func() error {
			return generator.Annotate(generator.NewContext(t.Context(), generator.Surroundings{}), object, "apply-order", "1")
		},
	} {
		if err := call(); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}
