// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"bytes"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

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

// Intercept returns a configuration whose requests a function gets, and what it can send them on with.
func Intercept(config *rest.Config, send func(request *http.Request, next http.RoundTripper) (*http.Response, error)) *rest.Config {
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return requests.RoundTripper(func(request *http.Request) (*http.Response, error) { return send(request, next) })
	})
	return config
}

// Dying returns a configuration that fails after the given number of writes, as if the process had died, and how many
// of these are left.
func Dying(config *rest.Config, survived int) (*rest.Config, *atomic.Int64) {
	left := &atomic.Int64{}
	left.Store(int64(survived))
	return Intercept(config, func(request *http.Request, next http.RoundTripper) (*http.Response, error) {
		if request.Method != http.MethodGet && left.Add(-1) < 0 {
			return nil, errors.New("the process died")
		}
		return next.RoundTrip(request)
	}), left
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
