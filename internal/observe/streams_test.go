// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package observe_test

import (
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/component-operator/runtime/internal/requests"
	"github.com/component-operator/runtime/internal/testenv"
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

// stream is the body of the response to one watch.
type stream struct {
	*io.PipeReader

	body  io.ReadCloser
	close func()
}

// Close ends the watch.
func (s *stream) Close() error {
	s.close()
	_ = s.PipeReader.Close() // never fails
	return s.body.Close()
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
				response.Body = s.add(response.Body)
			}
			return response, err
		})
	})
}

func (s *streams) add(body io.ReadCloser) io.ReadCloser {
	reader, writer := io.Pipe()
	added := &stream{PipeReader: reader, body: body}
	added.close = sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.open, added)
	})
	s.mu.Lock()
	s.open[added] = true
	s.mu.Unlock()
	go func() {
		_, err := io.Copy(writer, body)
		if s.isOpen(added) {
			_ = writer.CloseWithError(err) // never fails
			return
		}
		_, _ = io.WriteString(writer, expired) // fails if the reader is gone
		_ = writer.Close()
	}()
	return added
}

func (s *streams) isOpen(candidate *stream) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open[candidate]
}

// expire ends all watches as the server does from time to time.
func (s *streams) expire(tb testing.TB) {
	tb.Helper()
	s.mu.Lock()
	var ended []*stream
	for open := range s.open {
		ended = append(ended, open)
	}
	clear(s.open)
	s.mu.Unlock()
	if len(ended) == 0 {
		tb.Error("expected a watch")
	}
	for _, open := range ended {
		_ = open.body.Close() // the copy ends, too
	}
}

// awaitNone waits until no watch is open.
func (s *streams) awaitNone(tb testing.TB) {
	tb.Helper()
	testenv.Eventually(tb, func() (bool, string) {
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.open) == 0, "a watch of " + s.resource + " goes on"
	})
}
