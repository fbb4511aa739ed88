// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package clients_test

import (
	"context"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/component-operator/runtime/internal/clients"
)

// server is an API server that knows nothing and remembers who asked.
type server struct {
	*httptest.Server
	mu       sync.Mutex
	requests []*http.Request
}

func newServer(t *testing.T) *server {
	t.Helper()
	s := &server{}
	s.Server = httptest.NewTLSServer(http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
		s.mu.Lock()
		s.requests = append(s.requests, request)
		s.mu.Unlock()
		for _, warning := range request.URL.Query()["warn"] {
			writer.Header().Add("Warning", fmt.Sprintf("299 - %q", warning))
		}
		writer.Header().Set("Content-Type", "application/json")
		fmt.Fprint(writer, "{}")
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *server) seen() []*http.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*http.Request{}, s.requests...)
}

// kubeConfig returns one for the server; user is the content of its only user.
func (s *server) kubeConfig(user string) []byte {
	return kubeConfig(fmt.Sprintf("{server: %q, certificate-authority-data: %s}", s.URL, base64.StdEncoding.EncodeToString(s.ca())), user)
}

// config returns one for the server as the local cluster.
func (s *server) config() *rest.Config {
	return &rest.Config{Host: s.URL, TLSClientConfig: rest.TLSClientConfig{CAData: s.ca()}}
}

func (s *server) ca() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
}

func kubeConfig(cluster string, user string) []byte {
	return fmt.Appendf(nil, `{apiVersion: v1, kind: Config, current-context: main,
clusters: [{name: c, cluster: %s}], users: [{name: u, user: %s}, {name: other, user: {tokenFile: /etc/passwd}}],
contexts: [{name: main, context: {cluster: c, user: u}}, {name: second, context: {cluster: c, user: other}}]}`, cluster, user)
}

func newFactory(t *testing.T, options clients.Options) *clients.Factory {
	t.Helper()
	if options.Name == "" {
		options.Name = "operator.example.io"
	}
	if options.Config == nil {
		options.Config = &rest.Config{Host: "http://127.0.0.1:1"}
	}
	factory, err := clients.New(options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(factory.Close)
	return factory
}

func get(t *testing.T, factory *clients.Factory, key clients.Key) *clients.Connection {
	t.Helper()
	connection, err := factory.Get(key)
	if err != nil {
		t.Fatal(err)
	}
	return connection
}

// counters count what metrics are told.
type counters struct {
	mu              sync.Mutex
	created, active int
}

func (c *counters) ClientCreated() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.created++
}

func (c *counters) ClientsActive(count int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.active = count
}

func (c *counters) HostDropped(string) {}

func (c *counters) check(t *testing.T, created int, active int) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.created != created || c.active != active {
		t.Errorf("%d clients created and %d active, want %d and %d", c.created, c.active, created, active)
	}
}

// warnings keeps those that it handles.
type warnings []string

func (w *warnings) HandleWarningHeaderWithContext(_ context.Context, _ int, _ string, text string) {
	*w = append(*w, text)
}
