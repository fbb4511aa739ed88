// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package project

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/component-operator/runtime/internal/helm"
)

// TestConversionInChart renders the operator's chart, with a certificate of its own and with one of cert-manager, and
// checks that the definition and the admission webhooks trust it.
func TestConversionInChart(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	tree := render(t, variants["resources-both"])
	tree["chart/files/crds/shop.example.org_webshops.yaml"] = []byte(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: webshops.shop.example.org, annotations: {mine: kept}}
spec: {group: shop.example.org}
`)
	if err := tree.WriteTo(folder); err != nil {
		t.Fatal(err)
	}
	chart, err := helm.Load(nil, folder+"/chart")
	if err != nil {
		t.Fatal(err)
	}
	earlier := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shops", Name: "shop-webhook-tls"},
		Data:       map[string][]byte{"ca.crt": []byte("authority"), "tls.crt": []byte("certificate"), "tls.key": []byte("key")},
	}
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Secret"), meta.RESTScopeNamespace)
	for name, row := range map[string]struct {
		managed bool
		exists  []client.Object
		want    string // the authority; empty for one that is not known before
	}{
		"a certificate of the chart":           {false, nil, ""},
		"a certificate of an earlier revision": {false, []client.Object{earlier}, "YXV0aG9yaXR5"},
		"a certificate of cert-manager":        {true, nil, ""},
	} {
		managed := row.managed
		objects, err := chart.Render(t.Context(), helm.Release{
			Name: "shop", Namespace: "shops", Revision: 1, Capabilities: helm.Capabilities{KubeVersion: helm.KubeVersion{Version: "v1.36.0", Major: "1", Minor: "36"}},
			Values: map[string]any{"webhooks": map[string]any{"certManager": map[string]any{"enabled": managed}}},
			Client: func() (client.Client, error) {
				return fake.NewClientBuilder().WithRESTMapper(mapper).WithObjects(row.exists...).Build(), nil
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		kinds := map[string]*unstructured.Unstructured{}
		for _, object := range objects {
			kinds[object.GetKind()] = object.Unstructured
		}
		if kinds["CustomResourceDefinition"] == nil || kinds["ValidatingWebhookConfiguration"] == nil || kinds["Certificate"] == nil == managed {
			t.Fatalf("%s: unexpected kinds %v", name, kinds)
		}
		definition := kinds["CustomResourceDefinition"]
		conversion, _, err := unstructured.NestedMap(definition.Object, "spec", "conversion", "webhook", "clientConfig")
		webhooks, _, another := unstructured.NestedSlice(kinds["ValidatingWebhookConfiguration"].Object, "webhooks")
		if err := errors.Join(err, another); err != nil {
			t.Fatal(err)
		}
		admission, _, err := unstructured.NestedMap(webhooks[0].(map[string]any), "clientConfig")
		if err != nil {
			t.Fatal(err)
		}
		authority, injected := any(nil), "shops/shop-webhooks"
		if !managed {
			authority, injected = kinds["Secret"].Object["data"].(map[string]any)["ca.crt"], ""
		}
		if row.want != "" && authority != row.want {
			t.Errorf("%s: got authority %v, want %q", name, authority, row.want)
		}
		for use, got := range map[string]any{"conversion": conversion["caBundle"], "admission": admission["caBundle"]} {
			if got != authority || (got == nil) != managed {
				t.Errorf("%s: %s trusts %v, want %v", name, use, got, authority)
			}
		}
		if got := definition.GetAnnotations(); got["cert-manager.io/inject-ca-from"] != injected || got["mine"] != "kept" {
			t.Errorf("%s: unexpected annotations %v", name, got)
		}
		if path, _, _ := unstructured.NestedString(conversion, "service", "path"); path != "/convert" {
			t.Errorf("%s: got path %q, want /convert", name, path)
		}
	}
}
