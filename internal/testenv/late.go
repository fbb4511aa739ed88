// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"io"
	"net/http"
	"strings"
	"time"

	"k8s.io/client-go/rest"
)

// LateEvents returns a configuration whose watches of a resource, such as "configmaps", deliver their events after a
// delay, as those of a busy API server do. Events that arrive together are delayed once.
func LateEvents(config *rest.Config, resource string, delay time.Duration) *rest.Config {
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return transport(func(request *http.Request) (*http.Response, error) {
			response, err := next.RoundTrip(request)
			if err == nil && request.URL.Query().Get("watch") != "" && strings.HasSuffix(request.URL.Path, "/"+resource) {
				response.Body = lateBody{ReadCloser: response.Body, delay: delay}
			}
			return response, err
		})
	})
	return config
}

// transport is a function that is a transport.
type transport func(*http.Request) (*http.Response, error)

// RoundTrip calls the function.
func (t transport) RoundTrip(request *http.Request) (*http.Response, error) { return t(request) }

// lateBody returns what it has read after a delay.
type lateBody struct {
	io.ReadCloser
	delay time.Duration
}

func (b lateBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	time.Sleep(b.delay)
	return n, err
}
