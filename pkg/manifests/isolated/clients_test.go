// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package isolated_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/component-operator/runtime/internal/generating"
	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/cluster"
	"github.com/component-operator/runtime/pkg/generator"
	"github.com/component-operator/runtime/pkg/manifests"
	"github.com/component-operator/runtime/pkg/manifests/isolated"
	"github.com/component-operator/runtime/pkg/types"
)

func connect(t *testing.T, config *rest.Config) cluster.Client {
	t.Helper()
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	clnt, err := client.New(config, client.Options{HTTPClient: httpClient, Scheme: testenv.Scheme(t)})
	if err != nil {
		t.Fatal(err)
	}
	discoveryClient, err := discovery.NewDiscoveryClientForConfigAndClient(config, httpClient)
	if err != nil {
		t.Fatal(err)
	}
	return cluster.NewClient(clnt, discoveryClient, nil, config, httpClient)
}

// TestLookup: a chart finds the objects of the cluster, and the result counts as dependent on it.
func TestLookup(t *testing.T) {
	t.Parallel()
	namespace := testenv.Namespace(t)
	config, requests := testenv.CountingConfig(t)
	clnt := connect(t, config)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "given", Namespace: namespace}, Data: map[string][]byte{"a": []byte("b")}}
	if err := clnt.Create(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	ctx := generating.WithClient(surroundings(t.Context(), component()), clnt)
	generator := newGenerator(t, "chart", isolated.Options{})
	for _, tc := range []struct {
		secret string
		found  any
		reads  bool
	}{
		{"given", map[string]any{"a": "Yg=="}, true},
		{"missing", nil, true},
		{"", nil, false},
	} {
		ctx, reads := generating.TrackClusterReads(ctx)
		requests.Reset()
		objects, err := generator.Generate(ctx, namespace, "web", types.UnstructurableMap{"mischief": "", "secret": tc.secret})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tc.found, objects[0].(*unstructured.Unstructured).Object["found"]); diff != "" {
			t.Errorf("%q: (-want +got):\n%s", tc.secret, diff)
		}
		if reads.Any() != tc.reads || reads.Discovery() == "" {
			t.Errorf("%q: recorded reads %t, discovery %q", tc.secret, reads.Any(), reads.Discovery())
		}
		if !tc.reads && len(requests.All()) > 0 {
			t.Errorf("what is known of the cluster was read again:\n%s", requests)
		}
	}
}

// typeless is a client that cannot tell which types there are.
type typeless struct {
	client.Client
	mapper failingMapper
}

func (c typeless) RESTMapper() meta.RESTMapper { return c.mapper }

type failingMapper struct {
	meta.RESTMapper
	err error
}

func (f failingMapper) RESTMapping(schema.GroupKind, ...string) (*meta.RESTMapping, error) {
	return nil, f.err
}

// TestLookupOfUnknownTypes: a type that is not served has no objects; one that cannot be asked for may have some.
func TestLookupOfUnknownTypes(t *testing.T) {
	t.Parallel()
	v1, v2 := schema.GroupVersion{Group: "g", Version: "v1"}, schema.GroupVersion{Group: "g", Version: "v2"}
	notFound := apierrors.NewNotFound(schema.GroupResource{}, "")
	for reason, tc := range map[string]struct {
		err error
		// want is part of the error; if it is empty, nothing is found.
		want string
	}{
		"a kind that is not served":   {&meta.NoKindMatchError{GroupKind: schema.GroupKind{Kind: "Secret"}}, ""},
		"a group that is not served":  {&apiutil.ErrResourceDiscoveryFailed{v1: notFound}, ""},
		"a group that partly answers": {&apiutil.ErrResourceDiscoveryFailed{v1: notFound, v2: errors.New("no answer")}, "no answer"},
		"a group that does not":       {&apiutil.ErrResourceDiscoveryFailed{v1: errors.New("no answer")}, "no answer"},
	} {
		ctx := generating.WithClient(surroundings(t.Context(), component()), targetClient(typeless{mapper: failingMapper{err: tc.err}}))
		for where, generator := range map[string]manifests.Generator{"inside": chartGenerator(t), "beside": newGenerator(t, "chart", isolated.Options{})} {
			_, err := generator.Generate(ctx, "ns", "web", types.UnstructurableMap{"mischief": "", "secret": "a"})
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s, %s: got error %v, want %q", reason, where, err, tc.want)
			}
		}
	}
}

func chartGenerator(t *testing.T) manifests.Generator {
	t.Helper()
	generator, err := definitions()["chart"].New()
	if err != nil {
		t.Fatal(err)
	}
	return generator
}

// TestClients: the clients in the process read what those of the operator read, and do nothing else.
func TestClients(t *testing.T) {
	t.Parallel()
	namespace := testenv.Namespace(t)
	clnt := connect(t, testenv.Config(t))
	for name, labels := range map[string]map[string]string{"a": {"app": "web"}, "b": {"app": "web"}, "c": nil} {
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace, Labels: labels}, Data: map[string][]byte{"key": []byte(name)}}
		if err := clnt.Create(t.Context(), secret); err != nil {
			t.Fatal(err)
		}
	}
	ctx := generating.WithClient(t.Context(), clnt)
	ctx = generating.WithLocalClient(ctx, clnt)
	ctx = generating.WithComponentNamespace(ctx, namespace)
	generator := newGenerator(t, "own", isolated.Options{})
	try := func(what string) error {
		ctx, reads := generating.TrackClusterReads(ctx)
		_, err := generator.Generate(ctx, "", "", types.UnstructurableMap{"do": "read", "text": what})
		if !reads.Any() {
			t.Errorf("%s: no read was recorded", what)
		}
		return err
	}
	if err := try("all"); err != nil {
		t.Errorf("reading: %v", err)
	}
	if err := try("missing"); !apierrors.IsNotFound(err) {
		t.Errorf("a missing object: got error %v", err)
	}
	if err := try("unknown"); !meta.IsNoMatchError(err) {
		t.Errorf("an unknown type: got error %v", err)
	}
	for _, what := range []string{"write", "connect", "discover"} {
		expectError(t, try(what), "an isolated generator has no connection to the cluster; its clients can only get and list objects, and map kinds")
	}
	_, err := generator.Generate(t.Context(), "", "", types.UnstructurableMap{"do": "read", "text": "missing"})
	expectError(t, err, "client not found in context")
}

// readAll runs in the process. It reads in each way that there is.
func readAll(ctx context.Context) error {
	namespace, err := generator.ComponentNamespaceFromContext(ctx)
	if err != nil {
		return err
	}
	clnt, err := generator.LocalClientFromContext(ctx)
	if err != nil {
		return err
	}
	var failures []error
	check := func(what string, got, want any, err error) {
		if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
			failures = append(failures, fmt.Errorf("%s: got %v, want %v, error %w", what, got, want, err))
		}
	}
	key := client.ObjectKey{Namespace: namespace, Name: "a"}

	secret := &corev1.Secret{}
	err = clnt.Get(ctx, key, secret)
	check("typed object", string(secret.Data["key"]), "a", err)
	metadata := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}}
	err = clnt.Get(ctx, key, metadata)
	check("metadata", metadata.Labels, map[string]string{"app": "web"}, err)
	u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Secret"}}
	err = clnt.Get(ctx, key, u)
	check("unstructured object", u.Object["data"], map[string]any{"key": "YQ=="}, err)

	secrets := &corev1.SecretList{}
	err = clnt.List(ctx, secrets, client.InNamespace(namespace), client.MatchingLabels{"app": "web"})
	check("typed list", len(secrets.Items), 2, err)
	err = clnt.List(ctx, secrets, client.InNamespace(namespace), client.MatchingFields{"metadata.name": "c"})
	check("field selector", len(secrets.Items), 1, err)
	err = clnt.List(ctx, secrets, client.InNamespace(namespace), client.Limit(2))
	check("limit", len(secrets.Items), 2, err)
	err = clnt.List(ctx, secrets, client.InNamespace(namespace), client.Limit(2), client.Continue(secrets.Continue))
	check("the rest", len(secrets.Items), 1, err)
	partial := &metav1.PartialObjectMetadataList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "SecretList"}}
	err = clnt.List(ctx, partial, client.InNamespace(namespace))
	check("metadata list", len(partial.Items), 3, err)
	list := &unstructured.UnstructuredList{Object: map[string]any{"apiVersion": "v1", "kind": "SecretList"}}
	err = clnt.List(ctx, list, client.InNamespace(namespace))
	check("unstructured list", len(list.Items), 3, err)

	namespaced, err := clnt.IsObjectNamespaced(secret)
	check("namespaced", namespaced, true, err)
	namespaced, err = clnt.IsObjectNamespaced(&corev1.Namespace{})
	check("not namespaced", namespaced, false, err)
	known, err := generator.DiscoveryFromContext(ctx)
	check("discovery", known != nil && len(known.Resources) > 0 && known.Version.GitVersion != "", true, err)
	return errors.Join(failures...)
}
