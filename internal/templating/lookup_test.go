// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package templating_test

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/component-operator/runtime/internal/templating"
)

type contextKey struct{}

// lookupClient knows ConfigMaps, Secrets, which must not be read, Namespaces and, without serving it, the type
// x.io/v1 Gone. Its reads must come with the context of the test.
func lookupClient(t *testing.T) client.Client {
	t.Helper()
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("ConfigMap"), meta.RESTScopeNamespace)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Secret"), meta.RESTScopeNamespace)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Namespace"), meta.RESTScopeRoot)
	mapper.Add(schema.GroupVersionKind{Group: "x.io", Version: "v1", Kind: "Gone"}, meta.RESTScopeNamespace)
	object := func(namespace, name string) client.Object {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"name": name}}, Data: map[string]string{"key": name}}
	}
	check := func(ctx context.Context, kind string) error {
		if ctx.Value(contextKey{}) == nil {
			t.Errorf("the context of the caller was not used for %s", kind)
		}
		switch kind {
		case "Secret", "SecretList":
			return errors.New("secrets are forbidden")
		case "Gone", "GoneList":
			return &meta.NoKindMatchError{}
		}
		return nil
	}
	return fake.NewClientBuilder().WithRESTMapper(mapper).
		WithObjects(object("shop", "one"), object("shop", "two"), object("else", "one"), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}).
		WithInterceptorFuncs(interceptor.Funcs{
			Get: func(ctx context.Context, clnt client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
				if err := check(ctx, object.GetObjectKind().GroupVersionKind().Kind); err != nil {
					return err
				}
				return clnt.Get(ctx, key, object, options...)
			},
			List: func(ctx context.Context, clnt client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
				if err := check(ctx, list.GetObjectKind().GroupVersionKind().Kind); err != nil {
					return err
				}
				return clnt.List(ctx, list, options...)
			},
		}).Build()
}

func TestLookup(t *testing.T) {
	t.Parallel()
	tests := []struct{ reason, expression, want string }{
		{"an object", `(lookup "v1" "ConfigMap" "shop" "one").data`, `{"key":"one"}`},
		{"an object that does not exist", `lookup "v1" "ConfigMap" "shop" "none"`, `{}`},
		{"an empty name lists", `len (lookup "v1" "ConfigMap" "shop" "").items`, `2`},
		{"all objects of all namespaces", `len (lookup "v1" "ConfigMap" "" "").items`, `3`},
		{"a name without namespace finds nothing", `lookup "v1" "ConfigMap" "" "one"`, `{}`},
		{"an object without namespace", `(lookup "v1" "Namespace" "" "shop").metadata.name`, `"shop"`},
		{"an unknown kind", `lookup "v1" "Unknown" "shop" "one"`, `{}`},
		{"a type that has just gone", `list (lookup "x.io/v1" "Gone" "shop" "") (lookup "x.io/v1" "Gone" "shop" "x")`, `[{},{}]`},
		{"an object that must not be read", `lookup "v1" "Secret" "shop" "one"`, `error: error calling lookup: looking up v1 Secret shop/one: secrets are forbidden`},
		{"no type", `lookup "" "" "shop" ""`, `error: an API version and a kind are needed`},

		{"must: an object", `(mustLookup "v1" "ConfigMap" "shop" "one").data`, `{"key":"one"}`},
		{"must: an object that does not exist", `mustLookup "v1" "ConfigMap" "shop" "none"`, `error: looking up v1 ConfigMap shop/none: configmaps "none" not found`},

		{"list: all of a namespace", `len (lookupList "v1" "ConfigMap" "shop" "")`, `2`},
		{"list: all of all namespaces with a label", `len (lookupList "v1" "ConfigMap" "" "name=one")`, `2`},
		{"list: of an unknown kind", `lookupList "v1" "Unknown" "shop" ""`, `[]`},
		{"list: no selector", `lookupList "v1" "ConfigMap" "shop" "=x=y"`, `error: label selector "=x=y": `},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			t.Parallel()
			clnt := lookupClient(t)
			ctx := context.WithValue(t.Context(), contextKey{}, true)
			lookup := templating.NewLookup(ctx, func() (client.Client, error) { return clnt, nil })
			got, err := renderLookup(t, tt.expression, lookup)
			check(t, got, err, tt.want)
		})
	}
}

func renderLookup(t *testing.T, expression string, lookup templating.Lookup) (string, error) {
	t.Helper()
	functions := map[string]any{"lookup": lookup.One, "mustLookup": lookup.MustOne, "lookupList": lookup.List}
	set, err := templating.Parse([]templating.File{{Name: "a", Text: "{{ " + expression + " | toJson }}"}}, templating.Options{Functions: functions})
	if err != nil {
		t.Fatal(err)
	}
	return execute(t, set, "a", nil)
}
