// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package project

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/helm"
)

// noCluster is the client of a rendering without a cluster.
func noCluster() (client.Client, error) { return nil, nil }

// TestValuesOfTheChart renders the operator's chart with values that users get wrong, and without a cluster.
func TestValuesOfTheChart(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	tree := render(t, variants["resources-both"])
	tree["chart/files/crds/shop.example.org_webshops.yaml"] = []byte("apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: webshops.shop.example.org, annotations: {a: b}}\nspec: {group: shop.example.org}\n")
	if err := tree.WriteTo(folder); err != nil {
		t.Fatal(err)
	}
	chart, err := helm.Load(nil, folder+"/chart")
	if err != nil {
		t.Fatal(err)
	}
	rendered := func(values map[string]any) (map[string]*unstructured.Unstructured, error) {
		objects, err := chart.Render(t.Context(), helm.Release{
			Name: "shop", Namespace: "shops", Revision: 1, Capabilities: helm.Capabilities{KubeVersion: helm.KubeVersion{Version: "v1.36.0", Major: "1", Minor: "36"}}, Values: values,
			Client: noCluster,
		})
		kinds := map[string]*unstructured.Unstructured{}
		for _, object := range objects {
			kinds[object.GetKind()] = object.Unstructured
		}
		return kinds, err
	}
	tls := map[string]any{"ca.crt": "YQ==", "tls.crt": "Yg==", "tls.key": "Yw=="}
	got, err := rendered(map[string]any{
		"image":     map[string]any{"repository": "example.org/shop", "tag": 1.0},
		"podLabels": map[string]any{"app.kubernetes.io/name": "mine", "team": "a"}, "priorityClassName": 20240101,
		"webhooks": map[string]any{"tls": tls},
	})
	if err != nil {
		t.Fatal(err)
	}
	deployment := got["Deployment"].Object
	selector, _, _ := unstructured.NestedStringMap(deployment, "spec", "selector", "matchLabels")
	labels, _, _ := unstructured.NestedStringMap(deployment, "spec", "template", "metadata", "labels")
	for key, value := range selector {
		if labels[key] != value {
			t.Errorf("the Deployment does not select its own pods: label %s is %q", key, labels[key])
		}
	}
	if labels["team"] != "a" || labels["app.kubernetes.io/name"] == "mine" {
		t.Errorf("unexpected labels %v", labels)
	}
	containers, _, _ := unstructured.NestedSlice(deployment, "spec", "template", "spec", "containers")
	container := containers[0].(map[string]any)
	if _, declared := container["imagePullPolicy"]; declared || container["image"] != "example.org/shop:1" {
		t.Errorf("unexpected image %v, pull policy %v", container["image"], container["imagePullPolicy"])
	}
	if class, _, err := unstructured.NestedString(deployment, "spec", "template", "spec", "priorityClassName"); class != "20240101" {
		t.Errorf("unexpected class %q, %v", class, err)
	}
	if diff := cmp.Diff(tls, got["Secret"].Object["data"]); diff != "" {
		t.Errorf("the given certificate is not used (-want +got):\n%s", diff)
	}
	delete(tls, "tls.key")
	if _, err := rendered(map[string]any{"webhooks": map[string]any{"tls": tls}}); err == nil || !strings.Contains(err.Error(), "webhooks.tls: tls.key is missing; needed are ca.crt, tls.crt and tls.key") {
		t.Errorf("an incomplete certificate: got %v", err)
	}
}
