// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package manifests_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/generating"
	"github.com/component-operator/runtime/pkg/generator"
	"github.com/component-operator/runtime/pkg/manifests"
	"github.com/component-operator/runtime/pkg/types"
)

// withTypes is a transformer that contributes types, or fails to.
type withTypes struct {
	manifests.ContextObjectTransformerFunc
	manifests.ContextParameterTransformerFunc
	err error
}

func (w withTypes) AddToScheme(scheme *runtime.Scheme) error {
	return errors.Join(w.err, rbacv1.AddToScheme(scheme))
}

func TestTransformersReceiveTheContext(t *testing.T) {
	t.Parallel()
	parameterTransformer := manifests.ContextParameterTransformerFunc(
		func(ctx context.Context, namespace, _ string, parameters types.Unstructurable) (types.Unstructurable, error) {
			component, err := generator.ComponentNameFromContext(ctx)
			return types.UnstructurableMap(manifests.MergeMaps(parameters.ToUnstructured(), map[string]any{"a": namespace + "/" + component})), err
		})
	objectTransformer := manifests.ContextObjectTransformerFunc(
		func(ctx context.Context, _, _ string, objects []client.Object) ([]client.Object, error) {
			component, err := generator.ComponentNameFromContext(ctx)
			for _, object := range objects {
				object.SetName(object.GetName() + "-" + component)
			}
			return objects, err
		})
	generator := manifests.NewGenerator(echo{}).
		WithParameterTransformer(parameterTransformer).
		WithParameterTransformer(setParameter{"b", "plain"}).
		WithObjectTransformer(objectTransformer).
		WithObjectTransformer(rename{"-plain"})

	ctx := generating.ComponentName.With(t.Context(), "shop")
	objects, err := generator.Generate(ctx, "ns", "name", types.UnstructurableMap{})
	if err != nil {
		t.Fatal(err)
	}
	want := configMap("ns", "name-shop-plain", map[string]string{"a": "ns/shop", "b": "plain"})
	if diff := cmp.Diff([]client.Object{want}, objects); diff != "" {
		t.Errorf("unexpected objects (-want +got):\n%s", diff)
	}

	t.Run("without a context they say what is missing", func(t *testing.T) {
		t.Parallel()
		const missing = "component name not found in context: "
		if _, err := parameterTransformer.TransformParameters("ns", "name", types.UnstructurableMap{}); err == nil || !strings.HasPrefix(err.Error(), missing) {
			t.Errorf("got error %v, want %s", err, missing)
		}
		if _, err := objectTransformer.TransformObjects("ns", "name", nil); err == nil || !strings.HasPrefix(err.Error(), missing) {
			t.Errorf("got error %v, want %s", err, missing)
		}
	})
}

func TestTransformersContributeTypes(t *testing.T) {
	t.Parallel()
	for reason, generator := range map[string]manifests.Generator{
		"object transformer":    manifests.NewGenerator(echo{}).WithObjectTransformer(withTypes{}),
		"parameter transformer": manifests.NewGenerator(echo{}).WithParameterTransformer(withTypes{}),
	} {
		scheme := runtime.NewScheme()
		if err := generator.(types.SchemeBuilder).AddToScheme(scheme); err != nil {
			t.Fatal(err)
		}
		for _, kind := range []runtime.Object{&rbacv1.Role{}, configMap("", "", nil)} {
			if _, _, err := scheme.ObjectKinds(kind); err != nil {
				t.Errorf("%s: %v", reason, err)
			}
		}
	}
	broken := manifests.NewGenerator(echo{}).WithObjectTransformer(withTypes{err: errors.New("broken")})
	const want = "adding the types of manifests_test.withTypes: broken"
	if err := broken.(types.SchemeBuilder).AddToScheme(runtime.NewScheme()); err == nil || err.Error() != want {
		t.Errorf("got error %v, want %s", err, want)
	}
}
