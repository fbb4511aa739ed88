// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package manifests_test

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/manifests"
	"github.com/component-operator/runtime/pkg/types"
)

// echo returns one ConfigMap with its parameters as data.
type echo struct{ fingerprint string }

func (g echo) Generate(_ context.Context, namespace string, name string, parameters types.Unstructurable) ([]client.Object, error) {
	data := map[string]string{}
	for key, value := range parameters.ToUnstructured() {
		data[key], _ = value.(string)
	}
	return []client.Object{&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: data}}, nil
}

func (g echo) Fingerprint() string { return g.fingerprint }

func (g echo) AddToScheme(scheme *runtime.Scheme) error { return corev1.AddToScheme(scheme) }

type setParameter struct{ key, value string }

func (s setParameter) TransformParameters(_ string, _ string, parameters types.Unstructurable) (types.Unstructurable, error) {
	if s.key == "" {
		return nil, errors.New("no key")
	}
	return types.UnstructurableMap(manifests.MergeMaps(parameters.ToUnstructured(), map[string]any{s.key: s.value})), nil
}

type purelySetParameter struct{ setParameter }

func (s purelySetParameter) Fingerprint() string { return s.key + "=" + s.value }

type rename struct{ suffix string }

func (r rename) TransformObjects(_ string, _ string, objects []client.Object) ([]client.Object, error) {
	if r.suffix == "" {
		return nil, errors.New("no suffix")
	}
	for _, object := range objects {
		object.SetName(object.GetName() + r.suffix)
	}
	return objects, nil
}

func (r rename) Fingerprint() string { return r.suffix }

func TestFingerprint(t *testing.T) {
	t.Parallel()
	fingerprint := func(generator manifests.Generator) string { return generator.(manifests.Pure).Fingerprint() }
	base := func() manifests.TransformableGenerator { return manifests.NewGenerator(echo{"v1"}) }
	function := manifests.GeneratorFunc(func(context.Context, string, string, types.Unstructurable) ([]client.Object, error) {
		return nil, nil
	})

	for reason, generator := range map[string]manifests.Generator{
		"a foreign generator does not say that it is pure": manifests.NewGenerator(function),
		"a parameter transformer that is not pure":         base().WithParameterTransformer(setParameter{"a", "b"}),
		"nesting hides nothing":                            manifests.NewGenerator(base().WithParameterTransformer(setParameter{"a", "b"})),
	} {
		if got := fingerprint(generator); got != "" {
			t.Errorf("%s: got fingerprint %q, want none", reason, got)
		}
	}

	seen := map[string]string{}
	for reason, generator := range map[string]manifests.Generator{
		"other generator":       manifests.NewGenerator(echo{"v2"}),
		"object transformer":    base().WithObjectTransformer(rename{"x"}),
		"two in other order":    base().WithObjectTransformer(rename{"y"}).WithObjectTransformer(rename{"x"}),
		"parameter transformer": base().WithParameterTransformer(purelySetParameter{setParameter{"a", "b"}}),
	} {
		got := fingerprint(generator)
		if got == "" {
			t.Errorf("%s: no fingerprint", reason)
		}
		if other, ok := seen[got]; ok {
			t.Errorf("%s and %s have the same fingerprint", reason, other)
		}
		seen[got] = reason
	}
	first := fingerprint(base().WithObjectTransformer(rename{"x"}))
	if again := fingerprint(base().WithObjectTransformer(rename{"x"})); again != first {
		t.Error("the fingerprint is not stable")
	}
}
