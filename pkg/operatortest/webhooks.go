// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package operatortest

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
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

// installWebhooks makes the API server call the admission webhooks of the chart on this machine, for objects in the
// namespace of the test only. It returns nil if the chart has no webhooks at all.
func (c *Cluster) installWebhooks(tb testing.TB, chart *operatorChart) *webhookServer {
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
	server := &webhookServer{installation: envtest.WebhookInstallOptions{Paths: []string{folder}}}
	if err := server.installation.Install(testenv.Config(tb)); err != nil {
		tb.Fatalf("installing the webhooks of the chart: %v", err)
	}
	tb.Cleanup(func() {
		for _, object := range chart.webhooks {
			if err := client.IgnoreNotFound(c.client.Delete(context.WithoutCancel(tb.Context()), object)); err != nil {
				tb.Errorf("removing webhook configuration %s: %v", object.GetName(), err)
			}
		}
		if err := server.installation.Cleanup(); err != nil {
			tb.Errorf("removing the certificates of the webhooks: %v", err)
		}
	})
	server.running = webhook.NewServer(webhook.Options{
		Host: server.installation.LocalServingHost, Port: server.installation.LocalServingPort, CertDir: server.installation.LocalServingCertDir,
	})
	return server
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
