// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/component-operator/runtime/internal/requests"
)

// Request is what was asked of the API server.
type Request = requests.Request

// Requests records requests. Its methods may be called from several goroutines.
type Requests = requests.Recorder

// CountingConfig returns a configuration like [Config] and the record of all requests of all clients that are made from
// it.
func CountingConfig(tb testing.TB) (*rest.Config, *Requests) {
	tb.Helper()
	config, recorder := Config(tb), &Requests{}
	config.Wrap(recorder.Wrap)
	return config, recorder
}

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

// Output is what a program has written. It is safe for concurrent use, so that a test can read it while the program writes. The zero value is empty.
type Output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (o *Output) Write(text []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(text)
}

// String returns all that was written.
func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}
