// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package operatortest

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/component-operator/runtime/internal/helm"
	"github.com/component-operator/runtime/internal/requests"
	"github.com/component-operator/runtime/internal/testenv"
)

// operatorChart contains the objects of the operator's chart that matter here.
type operatorChart struct {
	definitions, accounts, roles, bindings, webhooks []*unstructured.Unstructured
	// converts reports whether a definition has a conversion webhook, for which the operator runs a webhook server.
	converts bool
}

// renderChart renders the operator's chart into the namespace of the test.
func (c *Cluster) renderChart(tb testing.TB) *operatorChart {
	tb.Helper()
	chart, err := helm.Load(nil, c.options.Chart)
	if err != nil {
		tb.Fatalf("loading the chart of the operator: %v", err)
	}
	objects, err := chart.Render(tb.Context(), helm.Release{
		Name: "operator", Namespace: c.namespace, Revision: 1, Values: c.options.Values, Capabilities: capabilities(tb),
		Client: func() (client.Client, error) { return c.client, nil },
	})
	if err != nil {
		tb.Fatalf("rendering the chart of the operator: %v", err)
	}
	rendered := &operatorChart{}
	for _, object := range objects {
		switch object.GetKind() {
		case "CustomResourceDefinition":
			// In tests, the API server does not call conversion webhooks: it only changes the version of objects.
			_, converts, _ := unstructured.NestedMap(object.Object, "spec", "conversion", "webhook")
			rendered.converts = rendered.converts || converts
			unstructured.RemoveNestedField(object.Object, "spec", "conversion")
			rendered.definitions = append(rendered.definitions, object.Unstructured)
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
	return helm.Capabilities{KubeVersion: helm.KubeVersion{Version: version.GitVersion, Major: version.Major, Minor: version.Minor}}
}

// Rights reports which rights the operator lacked.
type Rights struct {
	// Denied are requests of the operator that the API server denied for lack of a right, as "verb resource.group". It
	// does not contain requests that admission control denied.
	Denied []string
}

// Rights returns the rights that the operator has lacked so far. It requires Options.Chart.
func (c *Cluster) Rights() Rights {
	var rights Rights
	for _, request := range c.requests.All() {
		if request.Status != http.StatusForbidden || request.Resource == "" {
			continue
		}
		for _, verb := range verbsOf(request) {
			right := authorizationv1.ResourceAttributes{
				Namespace: request.Namespace, Verb: verb, Group: request.Group, Resource: request.Resource, Subresource: request.Subresource, Name: request.Name,
			}
			if !c.isAllowed(context.WithoutCancel(c.ctx), right) {
				rights.Denied = append(rights.Denied, textOf(right))
				break
			}
		}
	}
	slices.Sort(rights.Denied)
	rights.Denied = slices.Compact(rights.Denied)
	return rights
}

// isAllowed reports whether the operator has a right, according to the API server.
func (c *Cluster) isAllowed(ctx context.Context, right authorizationv1.ResourceAttributes) bool {
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{User: c.account, ResourceAttributes: &right}}
	return c.client.Create(ctx, review) == nil && review.Status.Allowed
}

// textOf returns "verb resource.group".
func textOf(right authorizationv1.ResourceAttributes) string {
	return strings.TrimSuffix(right.Verb+" "+strings.TrimSuffix(right.Resource+"/"+right.Subresource, "/")+"."+right.Group, ".")
}

// verbsOf returns the verbs that the request needs. A server-side apply that creates the object needs two.
func verbsOf(request requests.Request) []string {
	switch {
	case request.Method == http.MethodPost:
		return []string{"create"}
	case request.Method == http.MethodPut:
		return []string{"update"}
	case request.Method == http.MethodPatch:
		return []string{"patch", "create"}
	case request.Method == http.MethodDelete && request.Name == "":
		return []string{"deletecollection"}
	case request.Method == http.MethodDelete:
		return []string{"delete"}
	case request.IsWatch():
		return []string{"watch"}
	case request.Name == "":
		return []string{"list"}
	default:
		return []string{"get"}
	}
}

// grantRights creates the service account of the chart with its roles, and returns a configuration for that account.
func (c *Cluster) grantRights(tb testing.TB, chart *operatorChart) *rest.Config {
	tb.Helper()
	for _, object := range slices.Concat(chart.accounts, chart.roles, chart.bindings) {
		key := c.locate(tb, object)
		configuration := client.ApplyConfigurationFromUnstructured(object.DeepCopy())
		if err := c.client.Apply(tb.Context(), configuration, client.FieldOwner(user), client.ForceOwnership); err != nil {
			tb.Fatalf("applying %s: %v", key, err)
		}
		c.deleteAtEnd(tb, object)
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: chart.accounts[0].GetNamespace(), Name: chart.accounts[0].GetName()}}
	token := &authenticationv1.TokenRequest{}
	if err := c.client.SubResource("token").Create(tb.Context(), account, token); err != nil {
		tb.Fatalf("getting a token for service account %s: %v", account.Name, err)
	}
	config := rest.AnonymousClientConfig(testenv.Config(tb))
	config.BearerToken = token.Status.Token
	config.QPS = -1
	c.account = "system:serviceaccount:" + account.Namespace + ":" + account.Name
	for _, role := range chart.roles {
		c.awaitRights(tb, role)
	}
	return config
}

// deleteAtEnd deletes an object when the test ends.
func (c *Cluster) deleteAtEnd(tb testing.TB, object *unstructured.Unstructured) {
	tb.Helper()
	key := c.locate(tb, object)
	tb.Cleanup(func() {
		if err := client.IgnoreNotFound(c.client.Delete(context.WithoutCancel(tb.Context()), object)); err != nil {
			tb.Errorf("deleting %s: %v", key, err)
		}
	})
}

// awaitRights waits until the API server grants the rights of a role, which happens with a delay.
func (c *Cluster) awaitRights(tb testing.TB, role *unstructured.Unstructured) {
	tb.Helper()
	typed := &rbacv1.ClusterRole{} // a Role has the same fields
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(role.Object, typed); err != nil {
		tb.Fatalf("reading the rules of %s %s: %v", role.GetKind(), role.GetName(), err)
	}
	if len(typed.Rules) == 0 || len(typed.Rules[0].APIGroups) == 0 {
		return
	}
	rule := typed.Rules[0] // the others come with it
	resource, subresource, _ := strings.Cut(rule.Resources[0], "/")
	right := authorizationv1.ResourceAttributes{
		Namespace: role.GetNamespace(), Verb: rule.Verbs[0], Group: rule.APIGroups[0], Resource: resource, Subresource: subresource,
		Name: strings.Join(rule.ResourceNames[:min(1, len(rule.ResourceNames))], ""),
	}
	testenv.Eventually(tb, func() (bool, string) {
		return c.isAllowed(tb.Context(), right), "the chart has a role that allows " + textOf(right) + ", but its service account may not"
	})
}

// installWebhooks makes the API server call the admission webhooks of the chart on this machine, but only for objects
// in the namespace of the test. It returns the webhook server; nil if the chart has no webhooks.
func (c *Cluster) installWebhooks(tb testing.TB, chart *operatorChart) webhook.Server {
	tb.Helper()
	if len(chart.webhooks) == 0 && !chart.converts {
		return nil
	}
	here := map[string]any{"matchLabels": map[string]any{corev1.LabelMetadataName: c.namespace}}
	folder := tb.TempDir()
	for _, object := range chart.webhooks {
		hooks, _, _ := unstructured.NestedSlice(object.Object, "webhooks")
		for _, hook := range hooks {
			if content, ok := hook.(map[string]any); ok {
				content["namespaceSelector"] = here
			}
		}
		object.Object["webhooks"] = hooks
		text, err := object.MarshalJSON()
		if err == nil {
			err = os.WriteFile(filepath.Join(folder, object.GetKind()+object.GetName()+".json"), text, 0o600)
		}
		if err != nil {
			tb.Fatalf("writing %s: %v", object.GetName(), err)
		}
	}
	installation := envtest.WebhookInstallOptions{Paths: []string{folder}}
	if err := installation.Install(testenv.Config(tb)); err != nil {
		tb.Fatalf("installing the webhooks of the chart: %v", err)
	}
	tb.Cleanup(func() {
		if err := installation.Cleanup(); err != nil {
			tb.Errorf("removing the certificates of the webhooks: %v", err)
		}
	})
	for _, object := range chart.webhooks {
		c.deleteAtEnd(tb, object)
	}
	return webhook.NewServer(webhook.Options{
		Host: installation.LocalServingHost, Port: installation.LocalServingPort, CertDir: installation.LocalServingCertDir,
	})
}
