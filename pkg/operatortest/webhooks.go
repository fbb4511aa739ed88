// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package operatortest

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apitypes "k8s.io/apimachinery/pkg/types"
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
	if len(chart.webhooks) == 0 && len(chart.conversions) == 0 {
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

// conversions answers the conversion calls of the API server for all tests of the process, because they share the
// definitions. The operator that started last converts for all of them; its webhooks answer even after it has ended.
var conversions = conversionServer{latest: map[string]http.Handler{}, users: map[string]int{}}

type conversionServer struct {
	start    sync.Once
	server   *httptest.Server // ends with the process
	changing sync.Mutex       // held while definitions change
	users    map[string]int   // tests that need the conversion, by the name of the definition

	mu     sync.Mutex
	latest map[string]http.Handler // the webhooks of operators, by the name of the definition
}

// ServeHTTP passes a call on. The first segment of the path is the name of the definition, the others are the path of
// the webhook.
func (s *conversionServer) ServeHTTP(response http.ResponseWriter, request *http.Request) {
	name, _, _ := strings.Cut(strings.TrimPrefix(request.URL.Path, "/"), "/")
	s.mu.Lock()
	operator := s.latest[name]
	s.mu.Unlock()
	if operator == nil {
		http.NotFound(response, request)
		return
	}
	http.StripPrefix("/"+name, operator).ServeHTTP(response, request)
}

// leadConversions makes the API server call the conversion webhooks of the chart on this machine, until no test of this
// process needs them any more.
func (c *Cluster) leadConversions(tb testing.TB, chart *operatorChart, webhooks *webhookServer) {
	tb.Helper()
	for name, path := range chart.conversions {
		mux := webhooks.running.WebhookMux()
		if mux == nil {
			mux = http.NewServeMux()
		}
		if _, pattern := mux.Handler(&http.Request{Method: http.MethodPost, URL: &url.URL{Path: path}}); pattern == "" {
			tb.Fatalf("the chart leads conversions of %s to %s, where the operator has no webhook", name, path)
		}
		conversions.start.Do(func() { conversions.server = httptest.NewTLSServer(&conversions) })
		conversions.mu.Lock()
		conversions.latest[name] = mux
		conversions.mu.Unlock()
		c.convert(tb, name, path)
	}
}

// convert changes the definition, unless another test of this process has done so, and changes it back when no test
// needs it.
func (c *Cluster) convert(tb testing.TB, name, path string) {
	tb.Helper()
	conversions.changing.Lock()
	defer conversions.changing.Unlock()
	conversions.users[name]++
	tb.Cleanup(func() {
		conversions.changing.Lock()
		defer conversions.changing.Unlock()
		if conversions.users[name]--; conversions.users[name] == 0 {
			c.setConversion(tb, name, map[string]any{"strategy": "None", "webhook": nil})
		}
	})
	if conversions.users[name] > 1 {
		return
	}
	definition := &apiextensionsv1.CustomResourceDefinition{}
	if err := c.client.Get(tb.Context(), client.ObjectKey{Name: name}, definition); err != nil {
		tb.Fatalf("getting definition %s: %v", name, err)
	}
	// The API server converts as before until it has heard of the change. Then it ends all watches, which see objects
	// as they were converted before.
	watcher, err := c.client.Watch(tb.Context(), listOf(definition), client.InNamespace(c.namespace))
	if err != nil {
		tb.Fatalf("watching objects of %s: %v", name, err)
	}
	defer watcher.Stop()
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: conversions.server.Certificate().Raw})
	c.setConversion(tb, name, map[string]any{"strategy": "Webhook", "webhook": map[string]any{
		"conversionReviewVersions": []string{"v1"},
		"clientConfig":             map[string]any{"url": conversions.server.URL + "/" + name + path, "caBundle": authority, "service": nil},
	}})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for range watcher.ResultChan() { // only the end matters
		}
	}()
	testenv.Receive(tb, ended, "the API server calls the conversion webhook of "+name)
}

func (c *Cluster) setConversion(tb testing.TB, name string, conversion map[string]any) {
	tb.Helper()
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{"conversion": conversion}})
	definition := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if err == nil {
		err = c.client.Patch(context.WithoutCancel(tb.Context()), definition, client.RawPatch(apitypes.MergePatchType, patch), client.FieldOwner(user))
	}
	if client.IgnoreNotFound(err) != nil {
		tb.Errorf("setting the conversion of %s: %v", name, err)
	}
}

// listOf returns an empty list of what a definition defines, in the version that is stored.
func listOf(definition *apiextensionsv1.CustomResourceDefinition) *unstructured.UnstructuredList {
	list := &unstructured.UnstructuredList{}
	for _, version := range definition.Spec.Versions {
		if version.Storage {
			list.SetGroupVersionKind(schema.GroupVersionKind{Group: definition.Spec.Group, Version: version.Name, Kind: definition.Spec.Names.ListKind})
		}
	}
	return list
}
