// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package requests

import (
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Request is what was asked of the API server. A request that the client repeats counts each time.
type Request struct {
	Method    string
	Path      string
	Query     url.Values
	UserAgent string

	// Sent is when the request was handed to the transport, Answered when the header of the response was there.
	Sent, Answered time.Time
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

// New takes the path apart: /api/v1/… or /apis/group/version/…, then, in both, [namespaces/N/]resource[/name[/subresource]].
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
