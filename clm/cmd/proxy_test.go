// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/component-operator/runtime/internal/requests"
	"github.com/component-operator/runtime/internal/testenv"
)

// proxy stands between clm, which may be a process of its own, and the API server.
type proxy struct {
	kubeconfig string
	requests   *requests.Recorder
	reverse    *httputil.ReverseProxy
	// before is called when a request has arrived, after when the server has answered and the client does not know of
	// it. A false result keeps the request from the server, or the response from the client. Each may be nil.
	before, after func(request testenv.Request) bool
}

// newProxy returns a proxy with the hooks that the function sets, which may be nil. Its clients may do everything.
func newProxy(t *testing.T, set func(x *proxy)) *proxy {
	t.Helper()
	config := testenv.Config(t)
	target, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	transport, err := rest.TransportFor(config)
	if err != nil {
		t.Fatal(err)
	}
	x := &proxy{requests: &requests.Recorder{}}
	x.reverse = &httputil.ReverseProxy{
		Transport:     x.requests.Wrap(transport),
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target) },
		FlushInterval: -1, // watches are streams
		ErrorHandler:  func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
		ModifyResponse: func(response *http.Response) error {
			if x.after != nil && !x.after(entry(response.Request)) {
				return http.ErrAbortHandler
			}
			return nil
		},
	}
	if set != nil {
		set(x)
	}
	server := httptest.NewServer(x)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	x.kubeconfig = (&place{T: t}).file("kubeconfig", `
apiVersion: v1
kind: Config
clusters: [{name: proxy, cluster: {server: "`+server.URL+`"}}]
users: [{name: proxy}]
contexts: [{name: proxy, context: {cluster: proxy, user: proxy}}]
current-context: proxy
`)
	return x
}

func entry(request *http.Request) testenv.Request { return requests.New(request.Method, request.URL) }

func (x *proxy) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	asked := entry(request)
	if x.before != nil && !x.before(asked) {
		panic(http.ErrAbortHandler)
	}
	x.reverse.ServeHTTP(w, request)
}

// through returns the same place as it is seen through the proxy.
func (p *place) through(x *proxy) *place {
	q := *p
	q.kubeconfig = x.kubeconfig
	return &q
}

// background runs clm in this process; the result is there when it has ended.
func (p *place) background(ctx context.Context, args ...string) <-chan result {
	done := make(chan result, 1)
	go func() { done <- p.clmContext(ctx, args...) }()
	return done
}
