// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"k8s.io/client-go/rest"
)

// Request is what was asked of the API server. A request that the client repeats counts each time.
type Request struct {
	Method    string
	Path      string
	Query     url.Values
	UserAgent string

	// Status is the code of the response, or 0 if there was none.
	Status int

	// What the path says: all empty for discovery and other requests that are not about objects. Group is empty for the core group.
	Group, Version, Resource, Subresource, Namespace, Name string
}

// IsWatch tells whether the request opened a watch, a list that is streamed included.
func (r Request) IsWatch() bool {
	watch := r.Query.Get("watch")
	return watch == "true" || watch == "1"
}

// IsWrite tells whether the request may have changed something.
func (r Request) IsWrite() bool {
	return r.Method != http.MethodGet && r.Method != http.MethodHead
}

// Requests records requests. Its methods may be called from several goroutines.
type Requests struct {
	mu   sync.Mutex
	list []Request
}

// CountingConfig returns a configuration like [Config] and the record of all requests of all clients that are made from it.
func CountingConfig(tb testing.TB) (*rest.Config, *Requests) {
	tb.Helper()
	config, requests := Config(tb), &Requests{}
	config.Wrap(requests.wrap)
	return config, requests
}

// All returns the requests so far in the order of their responses.
func (r *Requests) All() []Request {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.list)
}

// Reset forgets the requests so far.
func (r *Requests) Reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = nil
}

// Count returns the number of requests so far for which the condition holds.
func (r *Requests) Count(condition func(Request) bool) int {
	count := 0
	for _, request := range r.All() {
		if condition(request) {
			count++
		}
	}
	return count
}

// String lists the requests so far, one line for those of one method on one resource (or path, where there is none), with their
// number: for the message of a failed assertion.
func (r *Requests) String() string {
	counts := map[string]int{}
	for _, request := range r.All() {
		what := request.Path
		if request.Resource != "" {
			what = strings.Trim(strings.Join([]string{request.Group, request.Version, request.Resource, request.Subresource}, "/"), "/")
		}
		if request.IsWatch() {
			what += " (watch)"
		}
		counts[request.Method+" "+what]++
	}
	var lines strings.Builder
	for _, what := range slices.Sorted(maps.Keys(counts)) {
		_, _ = fmt.Fprintf(&lines, "%4d %s\n", counts[what], what)
	}
	return lines.String()
}

func (r *Requests) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		entry := newRequest(request.Method, request.URL)
		entry.UserAgent = request.UserAgent()
		response, err := next.RoundTrip(request)
		if response != nil {
			entry.Status = response.StatusCode
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.list = append(r.list, entry)
		return response, err
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }

// newRequest takes the path apart: /api/v1/… or /apis/group/version/…, then, in both, [namespaces/N/]resource[/name[/subresource]].
func newRequest(method string, address *url.URL) Request {
	request := Request{Method: method, Path: address.Path, Query: address.Query()}
	parts := strings.Split(strings.Trim(address.Path, "/"), "/")
	var rest []string
	switch {
	case parts[0] == "api" && len(parts) > 2:
		request.Version, rest = parts[1], parts[2:]
	case parts[0] == "apis" && len(parts) > 3:
		request.Group, request.Version, rest = parts[1], parts[2], parts[3:]
	default:
		return request
	}
	// A namespace is itself a resource: its own subresources are the only names that may follow it and are no resources.
	if rest[0] == "namespaces" && len(rest) > 2 && rest[2] != "status" && rest[2] != "finalize" {
		request.Namespace, rest = rest[1], rest[2:]
	}
	request.Resource = rest[0]
	if len(rest) > 1 {
		request.Name = rest[1]
	}
	if len(rest) > 2 {
		request.Subresource = strings.Join(rest[2:], "/")
	}
	return request
}
