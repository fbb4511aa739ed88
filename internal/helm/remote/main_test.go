// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"testing"

	"go.uber.org/goleak"
)

// hosts has the handlers of hosts with names, which are reached through a proxy: by http only.
var hosts sync.Map

// serveName serves all ports of a host.
func serveName(t *testing.T, name string, handler http.HandlerFunc) {
	t.Helper()
	hosts.Store(name, handler)
	t.Cleanup(func() { hosts.Delete(name) })
}

// TestMain fails if a test leaves a goroutine behind.
func TestMain(m *testing.M) {
	proxy := httptest.NewServer(http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
		name, _, err := net.SplitHostPort(request.Host)
		if err != nil {
			name = request.Host
		}
		if handler, ok := hosts.Load(name); ok {
			handler.(http.HandlerFunc)(writer, request) //nolint:forcetypeassert // it has nothing else
			return
		}
		http.NotFound(writer, request)
	}))
	_ = os.Setenv("HTTP_PROXY", proxy.URL)
	goleak.VerifyTestMain(m, goleak.IgnoreCurrent(), goleak.Cleanup(func(code int) {
		proxy.Close()
		os.Exit(code)
	}))
}
