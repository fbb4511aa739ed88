// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package operatortest

import (
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/helm"
	"github.com/component-operator/runtime/internal/testenv"
)

// releaseName is the name of the release of the operator's chart.
const releaseName = "operator"

// operatorChart is what the operator's chart consists of, as far as it matters here.
type operatorChart struct {
	definitions []*unstructured.Unstructured
	accounts    []*unstructured.Unstructured
	roles       []*unstructured.Unstructured
	bindings    []*unstructured.Unstructured
	webhooks    []*unstructured.Unstructured
	// conversions are those of the definitions, by their names. They lead to a service; others stay in the definitions.
	conversions map[string]*apiextensionsv1.CustomResourceConversion
}

// renderChart renders the operator's chart into the namespace of the test.
func (c *Cluster) renderChart(tb testing.TB) *operatorChart {
	tb.Helper()
	chart, err := helm.Load(nil, c.options.Chart)
	if err != nil {
		tb.Fatalf("loading the chart of the operator: %v", err)
	}
	objects, err := chart.Render(tb.Context(), helm.Release{
		Name: releaseName, Namespace: c.namespace, Revision: 1, Values: c.options.Values, Capabilities: capabilities(tb),
		Client: func() (client.Client, error) { return c.client, nil },
	})
	if err != nil {
		tb.Fatalf("rendering the chart of the operator: %v", err)
	}
	rendered := &operatorChart{conversions: map[string]*apiextensionsv1.CustomResourceConversion{}}
	for _, object := range objects {
		switch object.GetKind() {
		case "CustomResourceDefinition":
			rendered.definitions = append(rendered.definitions, object.Unstructured)
			if conversion := takeConversion(tb, object.Unstructured); conversion != nil {
				rendered.conversions[object.GetName()] = conversion
			}
		case "ServiceAccount":
			rendered.accounts = append(rendered.accounts, object.Unstructured)
		case "ClusterRole", "Role":
			rendered.roles = append(rendered.roles, object.Unstructured)
		case "ClusterRoleBinding", "RoleBinding":
			rendered.bindings = append(rendered.bindings, object.Unstructured)
		case "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration":
			rendered.webhooks = append(rendered.webhooks, object.Unstructured)
		}
	}
	if len(rendered.accounts) != 1 {
		tb.Fatalf("the chart of the operator has %d service accounts, want one, which the operator acts as", len(rendered.accounts))
	}
	return rendered
}

// takeConversion takes the conversion by a webhook of the operator out of a definition. It returns nil if there is none.
func takeConversion(tb testing.TB, definition *unstructured.Unstructured) *apiextensionsv1.CustomResourceConversion {
	tb.Helper()
	content, _, err := unstructured.NestedMap(definition.Object, "spec", "conversion")
	if err != nil {
		tb.Fatalf("reading the conversion of %s: %v", definition.GetName(), err)
	}
	conversion := &apiextensionsv1.CustomResourceConversion{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(content, conversion); err != nil {
		tb.Fatalf("reading the conversion of %s: %v", definition.GetName(), err)
	}
	if conversion.Webhook == nil || conversion.Webhook.ClientConfig == nil || conversion.Webhook.ClientConfig.Service == nil {
		return nil
	}
	unstructured.RemoveNestedField(definition.Object, "spec", "conversion")
	return conversion
}

func capabilities(tb testing.TB) helm.Capabilities {
	tb.Helper()
	clnt, err := discovery.NewDiscoveryClientForConfig(testenv.Config(tb))
	if err != nil {
		tb.Fatalf("creating a discovery client: %v", err)
	}
	version, err := clnt.ServerVersion()
	if err != nil {
		tb.Fatalf("reading the version of Kubernetes: %v", err)
	}
	return helm.Capabilities{Version: version.GitVersion, Major: version.Major, Minor: version.Minor}
}
