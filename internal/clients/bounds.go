// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/connrotation"

	"github.com/component-operator/runtime/internal/requests"
)

const (
	// largestAnswers is the maximum size of all responses of a remote cluster that are being read at the same time, in
	// bytes.
	largestAnswers = 64 << 20
	// largestObject is the maximum size of a response with one object, in bytes. API servers accept 3 MiB, and etcd 1.5
	// MiB by default; that may be protobuf, and JSON is larger: base64 takes a third more, and a character such as "<"
	// takes six bytes.
	largestObject = 8 << 20
	// largestEvent is the maximum size of one watch event of a remote cluster, in bytes.
	largestEvent = 16 << 20
)

// bounds limits the duration of a connection's requests, and the size of responses of a remote server.
type bounds struct {
	patience Patience
	// remote is set for the cluster of a kubeconfig.
	remote bool

	// open is the number of bytes read of responses that are not closed yet.
	open atomic.Int64
	// active is the number of requests under way; retired is set when the connection was dropped.
	mu      sync.Mutex
	active  int
	retired bool
	// sockets are the open network connections of a remote connection. The transport itself closes only idle ones, some
	// time after the last request.
	sockets *connrotation.Dialer
}

// confine applies the bounds to clients of the configuration. No other transport may have been wrapped around theirs
// yet.
func (b *bounds) confine(config *rest.Config) {
	if b.remote {
		// These are the defaults of client-go.
		b.sockets = connrotation.NewDialer((&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext)
		config.Dial = b.sockets.DialContext
		if config.Proxy == nil {
			// With a proxy function, client-go does not share the transport with other connections that have the same
			// credentials. So it ends with this one.
			config.Proxy = http.ProxyFromEnvironment
		}
	}
	config.Wrap(b.around)
}

// around wraps a transport, which must be the innermost one.
func (b *bounds) around(next http.RoundTripper) http.RoundTripper {
	return boundedTransport{bounds: b, next: next}
}

// boundedTransport is a transport with bounds.
type boundedTransport struct {
	bounds *bounds
	next   http.RoundTripper
}

// WrappedRoundTripper returns the wrapped transport, for clients that unwrap transports.
func (t boundedTransport) WrappedRoundTripper() http.RoundTripper { return t.next }

// RoundTrip sends the request.
func (t boundedTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	e := t.bounds.begin(request)
	request = request.WithContext(e.ctx)
	if t.bounds.remote {
		lighten(request)
	}
	response, err := t.next.RoundTrip(request)
	if err != nil {
		err = e.explain(err)
		e.end()
		return nil, err
	}
	e.answered()
	if response.StatusCode == http.StatusSwitchingProtocols {
		return t.switched(e, request, response)
	}
	bounded := &boundedBody{ReadCloser: response.Body, exchange: e}
	response.Body = bounded
	if t.bounds.remote {
		if isHeavy(response.Header.Get("Content-Type")) {
			_ = response.Body.Close()
			return nil, foreignAnswer(e.server, response.StatusCode)
		}
		bounded.weight.text = isText(request)
		if response.Header.Get("Content-Type") == "" {
			// Otherwise the client takes it for what it prefers.
			response.Header.Set("Content-Type", "application/json")
		}
	}
	if e.unattended {
		response.Header.Del("Retry-After")
	}
	if err := t.bounds.examine(e.server, request, response); err != nil {
		err = e.explain(err)
		_ = response.Body.Close()
		return nil, err
	}
	return response, nil
}

// switched handles a response that switches protocols; the connection has no bounds any more. A server may do that only
// if the request asks for it.
func (t boundedTransport) switched(e *exchange, request *http.Request, response *http.Response) (*http.Response, error) {
	if request.Header.Get("Upgrade") != "" {
		// The body is the new connection, and can be written to.
		e.release()
		return response, nil
	}
	_ = response.Body.Close()
	e.end()
	return nil, foreignAnswer(e.server, response.StatusCode)
}

// retire closes the network connections as soon as no request needs them.
func (b *bounds) retire() {
	b.count(0, true)
}

func (b *bounds) count(change int, retire bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.active += change
	b.retired = b.retired || retire
	if b.retired && b.active == 0 && b.sockets != nil {
		b.sockets.CloseAll()
	}
}

// exchange is a request and its response.
type exchange struct {
	bounds *bounds
	server string
	// endless is set if the response is a stream without an end, such as a watch.
	endless bool
	// largest is the maximum size of the response in bytes, unless it is endless.
	largest int64
	// unattended is set for requests to a remote cluster without a Watchdog: nothing can stop clients from repeating
	// these by themselves.
	unattended bool
	parent     context.Context //nolint:containedctx // of the request, which the exchange is
	ctx        context.Context //nolint:containedctx // see above
	cancel     context.CancelCauseFunc
	begun      time.Time

	mu sync.Mutex
	// limit is the current time limit.
	limit    time.Duration
	patience *time.Timer
	watchdog *time.Timer
	over     bool
}

func (b *bounds) begin(request *http.Request) *exchange {
	e := &exchange{bounds: b, server: request.URL.Host, endless: isEndless(request), largest: largestAnswer(request), parent: request.Context(), begun: time.Now()}
	e.ctx, e.cancel = context.WithCancelCause(e.parent)
	e.limit = b.patience.Whole
	if request.Method == http.MethodGet || request.Method == http.MethodHead {
		e.limit = b.patience.Answer
	}
	e.patience = time.AfterFunc(e.limit, e.expire)
	watchdog, _ := e.parent.Value(watchdogKey{}).(*Watchdog)
	e.unattended = b.remote && watchdog == nil
	if b.remote && watchdog != nil {
		e.watchdog = time.AfterFunc(watchdog.After, watchdog.Slow)
	}
	b.count(1, false)
	return e
}

// expire ends the request because it has taken too long.
func (e *exchange) expire() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.cancel(&NoAnswerError{Server: e.server, After: e.limit})
}

// largestAnswer returns the maximum size of the response to a request, in bytes.
func largestAnswer(request *http.Request) int64 {
	asked := requests.New(request.Method, request.URL)
	creates := asked.Name == "" && request.Method == http.MethodPost
	switch {
	case asked.Resource == "", asked.Name == "" && !creates, isText(request):
		return largestAnswers
	default:
		return largestObject
	}
}

// isText reports whether the response is not decoded.
func isText(request *http.Request) bool {
	subresource := requests.New(request.Method, request.URL).Subresource
	return subresource == "log" || strings.HasPrefix(subresource, "proxy")
}

// isEndless reports whether the response is a stream that only client or server end.
func isEndless(request *http.Request) bool {
	query := request.URL.Query()
	for _, parameter := range []string{"watch", "follow"} {
		if value := query.Get(parameter); value == "true" || value == "1" {
			return true
		}
	}
	return false
}

// answered sets the time limit for the rest of the response, after it has begun.
func (e *exchange) answered() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.patience.Stop() || e.over {
		return
	}
	if !e.endless {
		e.limit = e.bounds.patience.Whole
		e.patience.Reset(max(e.limit-time.Since(e.begun), 0))
		return
	}
	if e.watchdog != nil {
		e.watchdog.Stop()
	}
}

// explain returns the error that caused the given one.
func (e *exchange) explain(err error) error {
	var noAnswer *NoAnswerError
	var network net.Error
	switch {
	case errors.As(context.Cause(e.ctx), &noAnswer):
		return noAnswer
	case e.parent.Err() == nil && errors.As(err, &network) && network.Timeout():
		return &NoAnswerError{Server: e.server, After: time.Since(e.begun).Round(time.Second)}
	case e.bounds.remote && isMalformed(err):
		return foreignAnswer(e.server, 0)
	case e.unattended && isClosed(err):
		return fmt.Errorf("the cluster at %s closed the connection without an answer", e.server)
	default:
		return err
	}
}

// isClosed reports whether a connection was closed before there was a response. Clients repeat such reads up to ten
// times.
func isClosed(err error) bool {
	return utilnet.IsConnectionReset(err) || utilnet.IsProbableEOF(err) || utilnet.IsHTTP2ConnectionLost(err)
}

// end ends the exchange, and cancels what is still under way.
func (e *exchange) end() {
	e.release()
	e.cancel(nil)
}

// release removes the bounds of the exchange.
func (e *exchange) release() {
	e.mu.Lock()
	over := e.over
	e.over = true
	e.mu.Unlock()
	if over {
		return
	}
	e.patience.Stop()
	if e.watchdog != nil {
		e.watchdog.Stop()
	}
	e.bounds.count(-1, false)
}
