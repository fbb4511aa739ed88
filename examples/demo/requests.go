// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net/http"
	"slices"
	"strings"
	"sync"

	"k8s.io/client-go/rest"
)

// A request is one that the operator has sent, with the status code of the response; 0 if there was none.
type request struct {
	method, path string
	status       int
}

// wroteDependent tells whether the request has written a dependent: everything that is neither read, nor refused because somebody
// else was faster, nor an event, nor the component itself.
func (r request) wroteDependent() bool {
	switch {
	case r.method == http.MethodGet, r.status >= http.StatusBadRequest:
		return false
	case strings.Contains(r.path, "/events"):
		return false
	default:
		return !strings.HasPrefix(r.path, "/apis/example.io/")
	}
}

// requests keeps the requests of the operator. It may be used concurrently.
type requests struct {
	mu   sync.Mutex
	list []request
}

// countedBy returns a copy of the configuration whose clients have their requests counted.
func countedBy(r *requests, config *rest.Config) *rest.Config {
	counted := rest.CopyConfig(config)
	counted.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(req *http.Request) (*http.Response, error) {
			response, err := next.RoundTrip(req)
			sent := request{method: req.Method, path: req.URL.Path}
			if err == nil {
				sent.status = response.StatusCode
			}
			r.add(sent)
			return response, err
		})
	})
	return counted
}

func (r *requests) add(req request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = append(r.list, req)
}

// since returns the requests after the first n, in the order of their responses.
func (r *requests) since(n int) []request {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.list[n:])
}

func (r *requests) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.list)
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip calls the function.
func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) {
	return f(req)
}
