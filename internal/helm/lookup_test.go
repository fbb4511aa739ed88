// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

type contextKey struct{}

// lookupClient knows ConfigMaps, Namespaces and, without serving them, types of the group x.io. Its reads must come
// with the context of the test.
func lookupClient(t *testing.T) client.Client {
	t.Helper()
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("ConfigMap"), meta.RESTScopeNamespace)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Secret"), meta.RESTScopeNamespace)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Namespace"), meta.RESTScopeRoot)
	for _, kind := range []string{"Gone", "Vanished", "Silent"} {
		mapper.Add(schema.GroupVersionKind{Group: "x.io", Version: "v1", Kind: kind}, meta.RESTScopeNamespace)
	}
	object := func(namespace, name string) client.Object {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: map[string]string{"key": name}}
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
		case "Vanished", "VanishedList":
			return &apiutil.ErrResourceDiscoveryFailed{{Group: "x.io", Version: "v1"}: apierrors.NewNotFound(schema.GroupResource{}, "")}
		case "Silent", "SilentList":
			return &apiutil.ErrResourceDiscoveryFailed{{Group: "x.io", Version: "v1"}: errors.New("the API does not answer")}
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

func renderLookup(t *testing.T, expression string, getClient func() (client.Client, error)) (any, error) {
	t.Helper()
	chart := load(t, files{"Chart.yaml": metadata("top"), "templates/a.yaml": configMap("a", "result: "+show(expression))})
	rendering := release(nil)
	rendering.Client = getClient
	objects, err := chart.Render(context.WithValue(t.Context(), contextKey{}, true), rendering)
	if err != nil {
		return nil, err
	}
	return objects[0].Object["data"].(map[string]any)["result"], nil
}

func TestLookup(t *testing.T) {
	t.Parallel()
	tests := []struct {
		reason     string
		expression string
		want       string
		err        string
	}{
		{"an object", `(lookup "v1" "ConfigMap" "shop" "one").data`, `{"key":"one"}`, ""},
		{"its type is there", `(lookup "v1" "ConfigMap" "shop" "one").kind`, `"ConfigMap"`, ""},
		{"an object that does not exist", `lookup "v1" "ConfigMap" "shop" "none"`, `{}`, ""},
		{"all objects of a namespace", `len (lookup "v1" "ConfigMap" "shop" "").items`, `2`, ""},
		{"all objects of all namespaces", `len (lookup "v1" "ConfigMap" "" "").items`, `3`, ""},
		{"no object at all", `len (lookup "v1" "ConfigMap" "none" "").items`, `0`, ""},
		{"a name without namespace finds nothing", `lookup "v1" "ConfigMap" "" "one"`, `{}`, ""},
		{"an object without namespace", `(lookup "v1" "Namespace" "" "shop").metadata.name`, `"shop"`, ""},
		{"the namespace of an object without one is ignored", `(lookup "v1" "Namespace" "shop" "shop").metadata.name`, `"shop"`, ""},
		{"all objects without namespace", `(index (lookup "v1" "Namespace" "" "").items 0).metadata.name`, `"shop"`, ""},
		{"an unknown type", `lookup "v1" "Unknown" "shop" "one"`, `{}`, ""},
		{"an unknown group", `lookup "unknown.io/v1" "ConfigMap" "shop" ""`, `{}`, ""},
		{"a type that has just gone", `lookup "x.io/v1" "Gone" "shop" ""`, `{}`, ""},
		{"an object of a type that has just gone", `lookup "x.io/v1" "Gone" "shop" "x"`, `{}`, ""},
		{"a type whose group has just gone", `lookup "x.io/v1" "Vanished" "shop" ""`, `{}`, ""},
		{"an object of a type whose group has just gone", `lookup "x.io/v1" "Vanished" "shop" "x"`, `{}`, ""},
		{"a broken API", `lookup "x.io/v1" "Silent" "shop" "x"`, ``, "looking up x.io/v1 Silent shop/x: "},
		{"a list of a broken API", `lookup "x.io/v1" "Silent" "shop" ""`, ``, "the API does not answer"},
		{"an object that must not be read", `lookup "v1" "Secret" "shop" "one"`, ``, "looking up v1 Secret shop/one: secrets are forbidden"},
		{"a list that must not be read", `lookup "v1" "Secret" "shop" ""`, ``, "looking up v1 Secret shop: secrets are forbidden"},
		{"no type", `lookup "" "" "shop" ""`, ``, "an API version and a kind are needed"},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			t.Parallel()
			clnt := lookupClient(t)
			got, err := renderLookup(t, tt.expression, func() (client.Client, error) { return clnt, nil })
			if tt.err != "" {
				if err == nil {
					t.Fatalf("got no error, but %v", got)
				}
				expectParts(t, err.Error(), "rendering chart top", "top/templates/a.yaml:6", tt.err)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("unexpected result (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLookupAsksForTheClientOnceAndOnlyIfNeeded(t *testing.T) {
	t.Parallel()
	clnt, calls := lookupClient(t), 0
	getClient := func() (client.Client, error) {
		calls++
		return clnt, nil
	}
	for expression, want := range map[string]int{
		`"no lookup"`: 0,
		`list (lookup "v1" "ConfigMap" "shop" "one") (lookup "v1" "ConfigMap" "shop" "")`: 1,
	} {
		calls = 0
		if _, err := renderLookup(t, expression, getClient); err != nil {
			t.Fatal(err)
		}
		if calls != want {
			t.Errorf("%s: asked %d times, want %d", expression, calls, want)
		}
	}

	_, err := renderLookup(t, `lookup "v1" "ConfigMap" "shop" "one"`, func() (client.Client, error) { return nil, errors.New("no client") })
	if err == nil {
		t.Fatal("a missing client is not noticed")
	}
	expectParts(t, err.Error(), "looking up v1 ConfigMap shop/one: no client")
}

func TestRenderOfCanceledContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := load(t, minimal).Render(ctx, release(nil)); !errors.Is(err, context.Canceled) {
		t.Errorf("got error %v", err)
	}
}
