// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package kustomize_test

import (
	"context"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/version"
	fakediscovery "k8s.io/client-go/discovery/fake"
	clienttesting "k8s.io/client-go/testing"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/component-operator/runtime/internal/generating"
	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/cluster"
)

// clientWith is a client for a cluster that has one ConfigMap named after it, in namespace shop.
func clientWith(name string) cluster.Client {
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("ConfigMap"), meta.RESTScopeNamespace)
	reader := fake.NewClientBuilder().WithRESTMapper(mapper).WithObjects(&corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, Labels: map[string]string{"cluster": name}}, Data: map[string]string{"cluster": name},
	}).Build()
	resources := []*metav1.APIResourceList{
		{GroupVersion: "v1", APIResources: []metav1.APIResource{{Name: "secrets", Kind: "Secret"}, {Name: "configmaps", Kind: "ConfigMap"}}},
		{GroupVersion: "apps/v1", APIResources: []metav1.APIResource{{Name: "deployments", Kind: "Deployment"}}},
	}
	discovery := &fakediscovery.FakeDiscovery{Fake: &clienttesting.Fake{Resources: resources}, FakedServerVersion: &version.Info{Major: "1", Minor: "36", GitVersion: "v1.36.3"}}
	return cluster.NewClient(reader, discovery, nil, nil, nil)
}

// fullContext holds what the reconciler provides.
func fullContext(ctx context.Context) context.Context {
	ctx = generating.Client.With(ctx, clientWith("target"))
	ctx = generating.LocalClient.With(ctx, clientWith("local"))
	ctx = generating.Component.With(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "component", Labels: map[string]string{"a": "b"}}, Type: "x"})
	ctx = generating.ComponentDigest.With(ctx, "digest")
	return generating.ComponentRevision.With(ctx, 7)
}

func TestFunctions(t *testing.T) {
	t.Parallel()
	tests := []struct {
		reason, expression string
		want               string
		// reads and discovers tell what the function makes the result depend on.
		reads, discovers bool
	}{
		{"namespace", `namespace`, "shop", false, false},
		{"name", `name`, "web", false, false},
		{"the component", `component.Type`, "x", false, false},
		{"resources, sorted", `range apiResources }}{{ .GroupVersion }}{{ range .APIResources }} {{ .Name }}{{ end }},{{ end`, "apps/v1 deployments,v1 configmaps secrets,", false, true},
		{"lookup", `(lookup "v1" "ConfigMap" "shop" "target").data.cluster`, "target", true, false},
		{"lookupList", `len (lookupList "v1" "ConfigMap" "" "cluster=target")`, "1", true, false},
		{"localLookup", `(localLookup "v1" "ConfigMap" "shop" "local").data.cluster`, "local", true, false},
		{"mustLocalLookup", `(mustLocalLookup "v1" "ConfigMap" "shop" "local").data.cluster`, "local", true, false},
		{"a lookup that is not reached", `if false }}{{ lookup "v1" "ConfigMap" "" "" }}{{ end`, "", false, false},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			t.Parallel()
			ctx, reads := generating.TrackClusterReads(fullContext(t.Context()))
			for range 2 { // nothing that a template does may change what it sees the next time
				got, err := data(t, ctx, nil, "x: '{{ "+tt.expression+" }}'")
				if err != nil {
					t.Fatal(err)
				}
				if got["x"] != tt.want {
					t.Errorf("got %q, want %q", got["x"], tt.want)
				}
			}
			if reads.Any() != tt.reads || (reads.Discovery() != "") != tt.discovers {
				t.Errorf("it depends on the cluster: %t, on its discovery information: %t", reads.Any(), reads.Discovery() != "")
			}
		})
	}
}

func TestFunctionsThatFail(t *testing.T) {
	t.Parallel()
	const invalid = "{kind: Config, apiVersion: v1, current-context: c, contexts: [{name: c, context: {cluster: c, user: u}}], clusters: [{name: c, cluster: {server: https://127.0.0.1:1}}], users: [{name: u, user: {tokenFile: /x}}]}"
	tests := []struct{ reason, expression, want string }{
		{"mustLookup of nothing", `mustLookup "v1" "ConfigMap" "shop" "none"`, `error calling mustLookup: looking up v1 ConfigMap shop/none: configmaps "none" not found`},
		{"a kubeconfig that is none", `lookupWithKubeConfig "v1" "ConfigMap" "" "" "x"`, "error calling lookupWithKubeConfig: looking up v1 ConfigMap: invalid kubeconfig"},
		{"a kubeconfig that reads the operator's files", `mustLookupWithKubeConfig "v1" "ConfigMap" "" "" "` + invalid + `"`, "uses tokenFile"},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			t.Parallel()
			_, err := data(t, fullContext(t.Context()), nil, "x: {{ "+tt.expression+" }}")
			expectError(t, err, "rendering kustomization app: a.yaml:6:8: ", tt.want)
		})
	}
	for _, function := range []string{"localLookup", "mustLocalLookup", "localLookupList"} {
		_, err := data(t, generating.NoLocalLookup.With(fullContext(t.Context()), true), nil, "x: {{ "+function+" `v1` `ConfigMap` `shop` `` }}")
		expectError(t, err, "this operator does not let templates look into its own cluster")
	}
	if _, err := data(t, generating.NoLocalLookup.With(fullContext(t.Context()), true), nil, "x: {{ (lookup `v1` `ConfigMap` `shop` `target`).data.cluster }}"); err != nil {
		t.Errorf("the target can still be looked into: %v", err)
	}
	for expression, want := range map[string]string{
		"component":                     "component not found in context",
		"kubernetesVersion":             "client not found in context",
		`localLookup "v1" "Pod" "" "x"`: "looking up v1 Pod x: local client not found in context",
	} {
		_, err := data(t, t.Context(), nil, "x: {{ "+expression+" }}")
		expectError(t, err, want)
	}
}

func TestLookupElsewhere(t *testing.T) {
	t.Parallel()
	namespace := testenv.Namespace(t)
	kubeConfig, err := os.ReadFile(testenv.Kubeconfig(t))
	if err != nil {
		t.Fatal(err)
	}
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "there", Labels: map[string]string{"a": "b"}}, Data: map[string]string{"x": "y"}}
	if err := testenv.Client(t).Create(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	ctx, reads := generating.TrackClusterReads(t.Context())
	got, err := data(t, ctx, map[string]any{"kubeConfig": string(kubeConfig), "ns": namespace},
		`one: {{ (lookupWithKubeConfig "v1" "ConfigMap" .ns "there" .kubeConfig).data.x }}`,
		`none: {{ lookupWithKubeConfig "v1" "ConfigMap" .ns "missing" .kubeConfig | toJson | quote }}`,
		`unknown: {{ lookupWithKubeConfig "x.example.io/v1" "Unknown" .ns "missing" .kubeConfig | toJson | quote }}`,
		`must: {{ (mustLookupWithKubeConfig "v1" "Namespace" "" .ns .kubeConfig).metadata.name }}`,
		`list: "{{ len (lookupListWithKubeConfig "v1" "ConfigMap" .ns "a=b" .kubeConfig) }}"`,
	)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"one": "y", "none": "{}", "unknown": "{}", "must": namespace, "list": "1"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("unexpected data (-want +got):\n%s", diff)
	}
	if !reads.Any() {
		t.Error("looking up does not count as reading")
	}
}
