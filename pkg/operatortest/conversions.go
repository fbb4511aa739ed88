// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package operatortest

import (
	"context"
	"encoding/pem"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/testenv"
)

// conversions is the server of this process.
var conversions = conversionServer{latest: map[string]http.Handler{}, users: map[string]int{}}

// conversionServer answers the conversion calls of the API server. There is one for all tests of the process, because they share the definitions. The operator that started
// last converts, for all of them; its webhooks answer even after it has ended.
type conversionServer struct {
	started sync.Once
	id      string
	address *httptest.Server // ends with the process

	claiming sync.Mutex     // held while definitions change
	users    map[string]int // tests that need the conversion, by the name of the definition

	mu     sync.Mutex
	latest map[string]http.Handler // the webhooks of operators, by the name of the definition
}

// ServeHTTP passes a call on. The first segment of the path is the name of the definition, the others are the path of the webhook.
func (s *conversionServer) ServeHTTP(response http.ResponseWriter, request *http.Request) {
	name, path, _ := strings.Cut(strings.TrimPrefix(request.URL.Path, "/"), "/")
	s.mu.Lock()
	operator := s.latest[name]
	s.mu.Unlock()
	if operator == nil {
		http.NotFound(response, request)
		return
	}
	passedOn := request.Clone(request.Context())
	passedOn.URL = &url.URL{Path: "/" + path, RawQuery: request.URL.RawQuery}
	operator.ServeHTTP(response, passedOn)
}

// start starts the server with the first call.
func (s *conversionServer) start() {
	s.started.Do(func() {
		s.id = fmt.Sprintf("%d-%s", time.Now().UnixMilli(), rand.String(5))
		s.address = httptest.NewUnstartedServer(s)
		s.address.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo) // other processes connect only to find out whether anybody answers
		s.address.StartTLS()
	})
}

// leading returns a conversion like that of the chart that leads here.
func (s *conversionServer) leading(name string, conversion *apiextensionsv1.CustomResourceConversion) *apiextensionsv1.CustomResourceConversion {
	here := conversion.DeepCopy()
	here.Webhook.ClientConfig = &apiextensionsv1.WebhookClientConfig{
		URL:      new(s.address.URL + "/" + name + pathOf(conversion)),
		CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.address.Certificate().Raw}),
	}
	return here
}

// pathOf returns the path of a webhook that is reached by a service.
func pathOf(conversion *apiextensionsv1.CustomResourceConversion) string {
	if path := conversion.Webhook.ClientConfig.Service.Path; path != nil {
		return "/" + strings.TrimPrefix(*path, "/")
	}
	return "/"
}

// A claimant changes where definitions lead conversion calls.
type claimant struct {
	client client.WithWatch
	// namespace is that of the test.
	namespace string
}

// lead makes the API server call the conversion webhook of the chart on this machine, until no test of this process needs it any more.
func (c claimant) lead(tb testing.TB, chart *operatorChart, webhooks *webhookServer) {
	tb.Helper()
	if chart == nil {
		return
	}
	for _, definition := range chart.definitions {
		name := definition.GetName()
		conversion := chart.conversions[name]
		if conversion == nil {
			continue
		}
		operator := webhooks.running.WebhookMux()
		if path := pathOf(conversion); !serves(operator, path) {
			tb.Fatalf("the chart leads conversions of %s to %s, where the operator has no webhook", name, path)
		}
		conversions.start()
		conversions.mu.Lock()
		conversions.latest[name] = operator
		conversions.mu.Unlock()
		c.begin(tb, definition, conversions.leading(name, conversion))
	}
}

func serves(mux *http.ServeMux, path string) bool {
	if mux == nil {
		return false
	}
	_, pattern := mux.Handler(&http.Request{Method: http.MethodPost, URL: &url.URL{Path: path}})
	return pattern != ""
}

// begin claims the conversion unless another test of this process has done so.
func (c claimant) begin(tb testing.TB, definition *unstructured.Unstructured, conversion *apiextensionsv1.CustomResourceConversion) {
	tb.Helper()
	conversions.claiming.Lock()
	defer conversions.claiming.Unlock()
	name := definition.GetName()
	conversions.users[name]++
	tb.Cleanup(func() { c.end(tb, name) })
	if conversions.users[name] > 1 {
		return
	}
	// The API server converts as before until it has heard of the change. Then it ends all watches, which see objects as they were converted before.
	watcher, err := c.client.Watch(tb.Context(), listOf(definition), client.InNamespace(c.namespace))
	if err != nil {
		tb.Fatalf("watching objects of %s: %v", name, err)
	}
	defer watcher.Stop()
	if err := c.change(tb.Context(), name, func(definition *apiextensionsv1.CustomResourceDefinition) error {
		return claimConversion(definition, conversions.id, conversion, answers)
	}); err != nil {
		tb.Fatalf("making the API server call the conversion webhook of %s: %v", name, err)
	}
	testenv.Receive(tb, endOf(watcher), "the API server calls the conversion webhook of "+name)
}

// end releases the conversion if no other test of this process needs it.
func (c claimant) end(tb testing.TB, name string) {
	tb.Helper()
	conversions.claiming.Lock()
	defer conversions.claiming.Unlock()
	conversions.users[name]--
	if conversions.users[name] > 0 {
		return
	}
	if err := c.change(context.WithoutCancel(tb.Context()), name, func(definition *apiextensionsv1.CustomResourceDefinition) error {
		return releaseConversion(definition, conversions.id, answers)
	}); err != nil {
		tb.Errorf("restoring the conversion of %s: %v", name, err)
	}
}

// dropDead removes what processes have left that ended without releasing the conversion. Without that, nobody might be able to read objects.
func (c claimant) dropDead(tb testing.TB, name string) {
	tb.Helper()
	definition := &apiextensionsv1.CustomResourceDefinition{}
	if err := c.client.Get(tb.Context(), client.ObjectKey{Name: name}, definition); err != nil {
		tb.Fatalf("getting definition %s: %v", name, err)
	}
	if !hasClaims(definition.Annotations) {
		return
	}
	if err := c.change(tb.Context(), name, func(definition *apiextensionsv1.CustomResourceDefinition) error {
		return dropClaims(definition, func(_, address string) bool { return !answers(address) })
	}); err != nil {
		tb.Fatalf("restoring the conversion of %s: %v", name, err)
	}
}

// change changes a definition as it is. One that is gone needs no change.
func (c claimant) change(ctx context.Context, name string, change func(definition *apiextensionsv1.CustomResourceDefinition) error) error {
	return client.IgnoreNotFound(retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		definition := &apiextensionsv1.CustomResourceDefinition{}
		if err := c.client.Get(ctx, client.ObjectKey{Name: name}, definition); err != nil {
			return err
		}
		before := definition.DeepCopy()
		if err := change(definition); err != nil || apiequality.Semantic.DeepEqual(before, definition) {
			return err
		}
		return c.client.Update(ctx, definition, client.FieldOwner(user))
	}))
}

// listOf returns an empty list of the kind that a definition defines, in the version that is stored.
func listOf(definition *unstructured.Unstructured) *unstructured.UnstructuredList {
	group, _, _ := unstructured.NestedString(definition.Object, "spec", "group")
	kind, _, _ := unstructured.NestedString(definition.Object, "spec", "names", "kind")
	versions, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions")
	list := &unstructured.UnstructuredList{}
	for _, version := range versions {
		if content, ok := version.(map[string]any); ok && content["storage"] == true {
			name, _, _ := unstructured.NestedString(content, "name")
			list.SetGroupVersionKind(schema.GroupVersionKind{Group: group, Version: name, Kind: kind + "List"})
		}
	}
	return list
}

// endOf returns a channel that is closed when a watch has ended.
func endOf(watcher watch.Interface) <-chan struct{} {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for range watcher.ResultChan() { // only the end matters
		}
	}()
	return ended
}

// answers reports whether anybody listens where a conversion leads to.
func answers(address string) bool {
	parsed, err := url.Parse(address)
	if err != nil {
		return false
	}
	connection, err := net.DialTimeout("tcp", parsed.Host, time.Second)
	if err != nil {
		return false
	}
	return connection.Close() == nil
}
