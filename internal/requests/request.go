// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package requests

import (
	"net/http"
	"net/url"
	"strings"
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

// New takes the path apart: /api/v1/… or /apis/group/version/…, then, in both,
// [namespaces/N/]resource[/name[/subresource]].
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
