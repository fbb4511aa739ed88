// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package concurrent

import (
	"context"
	"net/http"
	"strconv"
	"time"
)

type limiterKey struct{}

// WithLimiter returns a context whose requests report rejections to the limiter, if they are sent through a Transport.
func WithLimiter(ctx context.Context, limiter *Limiter) context.Context {
	return context.WithValue(ctx, limiterKey{}, limiter)
}

// Transport reports rejected requests to the limiter in their context.
func Transport(next http.RoundTripper) http.RoundTripper { return transport{next: next} }

type transport struct{ next http.RoundTripper }

// RoundTrip sends the request.
func (t transport) RoundTrip(request *http.Request) (*http.Response, error) {
	limiter, _ := request.Context().Value(limiterKey{}).(*Limiter)
	if limiter == nil {
		return t.next.RoundTrip(request)
	}
	sent := time.Now()
	response, err := t.next.RoundTrip(request)
	if err == nil && response.StatusCode == http.StatusTooManyRequests {
		seconds, _ := strconv.Atoi(response.Header.Get("Retry-After"))
		limiter.Rejected(sent, time.Duration(max(seconds, 0))*time.Second)
	}
	return response, err
}

// WrappedRoundTripper returns the inner transport; client-go uses it to find the innermost one.
func (t transport) WrappedRoundTripper() http.RoundTripper { return t.next }
