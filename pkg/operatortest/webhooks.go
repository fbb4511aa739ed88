// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package operatortest

import (
	"context"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/component-operator/runtime/internal/testenv"
)

// webhookServer is where the API server finds the webhooks of the operator.
type webhookServer struct {
	installation envtest.WebhookInstallOptions
	running      webhook.Server
}

// installWebhooks makes the API server call the admission webhooks of the chart on this machine, for objects in the namespace of the test only. It
// returns nil if the chart has no webhooks at all.
func (c *Cluster) installWebhooks(tb testing.TB, chart *operatorChart) *webhookServer {
	tb.Helper()
	if len(chart.webhooks) == 0 && len(chart.conversions) == 0 {
		return nil
	}
	here := &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: c.namespace}}
	server := &webhookServer{}
	for _, object := range chart.webhooks {
		switch object.GetKind() {
		case "MutatingWebhookConfiguration":
			typed := &admissionv1.MutatingWebhookConfiguration{}
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, typed); err != nil {
				tb.Fatalf("reading %s: %v", object.GetName(), err)
			}
			for i := range typed.Webhooks {
				typed.Webhooks[i].NamespaceSelector = here
			}
			server.installation.MutatingWebhooks = append(server.installation.MutatingWebhooks, typed)
		default:
			typed := &admissionv1.ValidatingWebhookConfiguration{}
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, typed); err != nil {
				tb.Fatalf("reading %s: %v", object.GetName(), err)
			}
			for i := range typed.Webhooks {
				typed.Webhooks[i].NamespaceSelector = here
			}
			server.installation.ValidatingWebhooks = append(server.installation.ValidatingWebhooks, typed)
		}
	}
	if err := server.installation.Install(testenv.Config(tb)); err != nil {
		tb.Fatalf("installing the webhooks of the chart: %v", err)
	}
	tb.Cleanup(func() { server.remove(tb, c.client) })
	server.running = webhook.NewServer(webhook.Options{
		Host: server.installation.LocalServingHost, Port: server.installation.LocalServingPort, CertDir: server.installation.LocalServingCertDir,
	})
	return server
}

// remove removes the configurations.
func (s *webhookServer) remove(tb testing.TB, clnt client.Client) {
	tb.Helper()
	var configurations []client.Object
	for _, configuration := range s.installation.MutatingWebhooks {
		configurations = append(configurations, configuration)
	}
	for _, configuration := range s.installation.ValidatingWebhooks {
		configurations = append(configurations, configuration)
	}
	for _, configuration := range configurations {
		if err := client.IgnoreNotFound(clnt.Delete(context.WithoutCancel(tb.Context()), configuration)); err != nil {
			tb.Errorf("removing webhook configuration %s: %v", configuration.GetName(), err)
		}
	}
	if err := s.installation.Cleanup(); err != nil {
		tb.Errorf("removing the certificates of the webhooks: %v", err)
	}
}

// server returns what the manager runs; nil means the default, which does nothing without webhooks.
func (s *webhookServer) server() webhook.Server {
	if s == nil {
		return nil
	}
	return s.running
}

// await waits until the server answers.
func (s *webhookServer) await(tb testing.TB, mgr ctrl.Manager) {
	tb.Helper()
	if s == nil {
		return
	}
	started := mgr.GetWebhookServer().StartedChecker()
	testenv.Eventually(tb, func() (bool, string) {
		if err := started(nil); err != nil {
			return false, "the webhook server of the operator: " + err.Error()
		}
		return true, ""
	})
}
