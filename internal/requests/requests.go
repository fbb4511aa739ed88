// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package requests records the requests of clients to an API server: for tests that count requests, and for the
// benchmark, which measures the time between them.
package requests

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
)

// Request is a request to the API server. A request that the client repeats counts each time.
type Request struct {
	Method    string
	Path      string
	Query     url.Values
	UserAgent string

	// Sent is when the transport got the request, Answered when the header of the response arrived.
	Sent, Answered time.Time
	// Status is the code of the response, or 0 if there was none.
	Status int

	// Parts of the path; all empty for discovery and other requests that are not about objects. Group is empty for the
	// core group.
	Group, Version, Resource, Subresource, Namespace, Name string
}

// IsWatch reports whether the request opened a watch or a streamed list.
func (r Request) IsWatch() bool {
	watch := r.Query.Get("watch")
	return watch == "true" || watch == "1"
}

// IsWrite reports whether the request may have changed an object.
func (r Request) IsWrite() bool {
	return r.Method != http.MethodGet && r.Method != http.MethodHead
}

// New parses the path: /api/v1/… or /apis/group/version/…, then, in both, [namespaces/N/]resource[/name[/subresource]].
func New(method string, address *url.URL) Request {
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
	// A namespace is itself a resource: names in third place are resources in the namespace, unless they are
	// subresources of the namespace.
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

// Recorder records requests. Its zero value is ready for use. Its methods may be called from several goroutines.
type Recorder struct {
	mu       sync.Mutex
	list     []Request
	underWay int
}

// All returns the requests so far in the order of their responses.
func (r *Recorder) All() []Request {
	return r.Since(0)
}

// Since returns the requests after the first n, in the order of their responses.
func (r *Recorder) Since(n int) []Request {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.list[n:])
}

// Len returns the number of requests so far.
func (r *Recorder) Len() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.list)
}

// UnderWay returns the number of requests that were sent and have no response yet; the other methods do not include
// them. A watch has its response when it begins.
func (r *Recorder) UnderWay() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.underWay
}

// Reset drops the requests so far. Requests under way are recorded later.
func (r *Recorder) Reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = nil
}

// Count returns the number of requests so far that meet the condition.
func (r *Recorder) Count(condition func(Request) bool) int {
	return len(slices.DeleteFunc(r.All(), func(request Request) bool { return !condition(request) }))
}

// String is [Summary] of the requests so far.
func (r *Recorder) String() string {
	return Summary(r.All())
}

// Summary counts requests, one line for each method and resource (or path, if there is no resource): for
// messages about unexpected requests.
func Summary(list []Request) string {
	counts := map[string]int{}
	for _, request := range list {
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

// Wrap returns a transport that records each request. It is an argument for rest.Config.Wrap.
func (r *Recorder) Wrap(next http.RoundTripper) http.RoundTripper {
	return RoundTripper(func(request *http.Request) (*http.Response, error) {
		entry := New(request.Method, request.URL)
		entry.UserAgent = request.UserAgent()
		entry.Sent = time.Now()
		r.mu.Lock()
		r.underWay++
		r.mu.Unlock()
		response, err := next.RoundTrip(request)
		entry.Answered = time.Now()
		if response != nil {
			entry.Status = response.StatusCode
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.underWay--
		r.list = append(r.list, entry)
		return response, err
	})
}

// RoundTripper is a function as a transport.
type RoundTripper func(*http.Request) (*http.Response, error)

// RoundTrip calls the function.
func (f RoundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }
