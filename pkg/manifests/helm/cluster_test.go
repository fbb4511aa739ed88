// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package helm_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/generating"
	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/cluster"
	"github.com/component-operator/runtime/pkg/manifests"
	"github.com/component-operator/runtime/pkg/manifests/helm"
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

func newGenerator(t *testing.T, lines string) manifests.Generator {
	t.Helper()
	generator, err := helm.New(chartWith(map[string]string{
		"templates/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n" + lines,
	}), ".", helm.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return generator
}

func data(t *testing.T, ctx context.Context, generator manifests.Generator, namespace string) map[string]any {
	t.Helper()
	objects, err := generator.Generate(ctx, namespace, "web", types.UnstructurableMap{})
	if err != nil {
		t.Fatal(err)
	}
	return unwrap(t, objects)[0].Object["data"].(map[string]any)
}

// TestCapabilitiesOfTheTargetCluster is not parallel, because other tests forget what is known about the cluster.
func TestCapabilitiesOfTheTargetCluster(t *testing.T) {
	config, requests := testenv.CountingConfig(t)
	target := connect(t, config)
	ctx := generating.Client.With(state{1, false}.context(t.Context()), target)
	generator := newGenerator(t, `  version: {{ .Capabilities.KubeVersion.Version }}
  group: "{{ .Capabilities.APIVersions.Has "apps/v1" }}"
  kind: "{{ .Capabilities.APIVersions.Has "v1/ConfigMap" }} {{ .Capabilities.APIVersions.Has "apps/v1/Deployment" }}"
  unknown: "{{ .Capabilities.APIVersions.Has "apps/v1/ConfigMap" }}"
`)
	info, err := target.DiscoveryClient().ServerVersion()
	if err != nil {
		t.Fatal(err)
	}
	requests.Reset()
	want := map[string]any{"version": info.GitVersion, "group": "true", "kind": "true true", "unknown": "false"}
	for range 3 {
		if diff := cmp.Diff(want, data(t, ctx, generator, "default")); diff != "" {
			t.Errorf("unexpected data (-want +got):\n%s", diff)
		}
	}
	if got := len(requests.All()); got != 3 {
		t.Errorf("rendering three times took %d requests, want 3 in total:\n%s", got, requests)
	}
	generating.InvalidateDiscovery()
	data(t, ctx, generator, "default")
	if got := len(requests.All()); got != 6 {
		t.Errorf("after an invalidation there were %d requests, want 6:\n%s", got, requests)
	}
}

func TestLookupInTheTargetCluster(t *testing.T) {
	t.Parallel()
	target, namespace := connect(t, testenv.Config(t)), testenv.Namespace(t)
	generator := newGenerator(t, `  password: {{ (lookup "v1" "Secret" .Release.Namespace "credentials").data | default dict | toJson | quote }}
  count: "{{ (lookup "v1" "Secret" .Release.Namespace "").items | len }}"
  namespace: "{{ (lookup "v1" "Namespace" "" .Release.Namespace).metadata.name }}"
  unknown: {{ lookup "x.example.io/v1" "Unknown" "" "" | toJson | quote }}
  nowhere: {{ lookup "v1" "Secret" "" "credentials" | toJson | quote }}
`)
	ctx, reads := generating.TrackClusterReads(generating.Client.With(state{1, false}.context(t.Context()), target))
	want := map[string]any{"password": "{}", "count": "0", "namespace": namespace, "unknown": "{}", "nowhere": "{}"}
	if diff := cmp.Diff(want, data(t, ctx, generator, namespace)); diff != "" {
		t.Errorf("before the secret exists: unexpected data (-want +got):\n%s", diff)
	}
	if !reads.Any() {
		t.Error("looking up does not count as reading")
	}

	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "credentials"}, Data: map[string][]byte{"p": []byte("x")}}
	if err := target.Create(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	want["password"], want["count"] = `{"p":"eA=="}`, "1"
	if diff := cmp.Diff(want, data(t, ctx, generator, namespace)); diff != "" {
		t.Errorf("after the secret exists: unexpected data (-want +got):\n%s", diff)
	}

	canceled, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := generator.Generate(canceled, namespace, "web", nil); err == nil {
		t.Error("the context of the caller does not matter")
	}
}
