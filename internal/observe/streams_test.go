// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package observe_test

import (
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/component-operator/runtime/internal/requests"
)

// expired is how the server ends a watch whose resource version it does not know any more.
const expired = `{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",` +
	`"message":"too old resource version","reason":"Expired","code":410}}` + "\n"

// streams are the watches of a resource that are open. It stands between client and server and can end them.
type streams struct {
	resource string

	mu   sync.Mutex
	open map[*stream]bool
}

// stream is the body of the response to one watch. After it has expired, its last event says so.
type stream struct {
	io.ReadCloser

	streams *streams
	expired atomic.Bool
	last    io.Reader
}

// Read reads from the body.
func (s *stream) Read(buffer []byte) (int, error) {
	count, err := s.ReadCloser.Read(buffer)
	if err != nil && s.expired.Load() {
		return s.last.Read(buffer)
	}
	return count, err
}

// Close ends the watch.
func (s *stream) Close() error {
	s.streams.mu.Lock()
	defer s.streams.mu.Unlock()
	delete(s.streams.open, s)
	return s.ReadCloser.Close()
}

// through has all watches of the resource go through the streams.
func (s *streams) through(config *rest.Config) {
	s.open = map[*stream]bool{}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return requests.RoundTripper(func(request *http.Request) (*http.Response, error) {
			if request.URL.Query().Get("watch") == "" || !strings.HasSuffix(request.URL.Path, "/"+s.resource) {
				return next.RoundTrip(request)
			}
			request = request.Clone(request.Context())
			request.Header.Set("Accept", "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1")
			response, err := next.RoundTrip(request)
			if err == nil && response.StatusCode == http.StatusOK {
				added := &stream{ReadCloser: response.Body, streams: s, last: strings.NewReader(expired)}
				s.mu.Lock()
				s.open[added] = true
				s.mu.Unlock()
				response.Body = added
			}
			return response, err
		})
	})
}

// expire ends all watches as the server does from time to time.
func (s *streams) expire(tb testing.TB) {
	tb.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.open) == 0 {
		tb.Error("expected a watch")
	}
	for open := range s.open {
		open.expired.Store(true)
		_ = open.ReadCloser.Close()
	}
	clear(s.open)
}
