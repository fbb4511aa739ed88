// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"

	"github.com/component-operator/runtime/internal/requests"
)

const (
	// largestAnswers bounds what is read of the answers of a remote cluster at the same time, in bytes.
	largestAnswers = 64 << 20
	// largestObject bounds an answer that is one object, in bytes. API servers accept 3 MiB, and etcd 1.5 MiB unless it is told otherwise; that may be
	// protobuf, and JSON takes more: a third for what is base64, and six bytes for each character such as "<".
	largestObject = 8 << 20
	// largestEvent bounds one event of a watch of a remote cluster, in bytes.
	largestEvent = 16 << 20
)

// bounds are those of a connection. They end what takes too long, and bound what a remote server may send.
type bounds struct {
	patience Patience
	// remote is set for clusters to which a kubeconfig leads.
	remote bool

	// open is the number of bytes that were read of answers that are not complete.
	open atomic.Int64
	// active is the number of requests that are not over; retired is set when the connection was dropped.
	mu      sync.Mutex
	active  int
	retired bool
	// sockets are those of a remote connection.
	sockets sockets
}

// confine has clients of the configuration be bounded. Nothing else may have been wrapped around their transport yet.
func (b *bounds) confine(config *rest.Config) {
	if b.remote {
		config.Dial = b.sockets.dial
		if config.Proxy == nil {
			// Other transports are shared by client-go among all who have the same credentials. This one ends with the connection.
			config.Proxy = http.ProxyFromEnvironment
		}
	}
	config.Wrap(b.around)
}

// around puts the bounds around a transport, which has to be the one next to the network.
func (b *bounds) around(next http.RoundTripper) http.RoundTripper {
	return boundedTransport{bounds: b, next: next}
}

// boundedTransport is a transport with bounds.
type boundedTransport struct {
	bounds *bounds
	next   http.RoundTripper
}

// WrappedRoundTripper returns the transport below, which lets clients find out what they talk through.
func (t boundedTransport) WrappedRoundTripper() http.RoundTripper { return t.next }

// RoundTrip sends the request.
func (t boundedTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	e := t.bounds.begin(request)
	response, err := t.next.RoundTrip(request.WithContext(e.ctx))
	if err != nil {
		err = e.explain(err)
		e.end()
		return nil, err
	}
	e.answered()
	if response.StatusCode == http.StatusSwitchingProtocols {
		return t.switched(e, request, response)
	}
	response.Body = &boundedBody{ReadCloser: response.Body, exchange: e}
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

// switched handles an answer after which the connection serves another purpose: nothing bounds it any more. A server may not do that unasked.
func (t boundedTransport) switched(e *exchange, request *http.Request, response *http.Response) (*http.Response, error) {
	if request.Header.Get("Upgrade") != "" {
		// What follows is no answer, and its body can be written to.
		e.release()
		return response, nil
	}
	_ = response.Body.Close()
	e.end()
	return nil, &ForeignAnswerError{Server: e.server, Code: response.StatusCode}
}

// retire closes connections to the server as soon as no request needs them.
func (b *bounds) retire() {
	b.count(0, true)
}

func (b *bounds) count(change int, retire bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.active += change
	b.retired = b.retired || retire
	if b.retired && b.active == 0 {
		b.sockets.close()
	}
}

// exchange is a request and its answer.
type exchange struct {
	bounds *bounds
	server string
	// endless is set if the answer has no end of its own.
	endless bool
	// largest is the number of bytes that the answer may have unless it is endless.
	largest int64
	// unattended is set if the request is to a remote cluster and not watched by a Watchdog: then nobody can end what clients do by
	// themselves to repeat it.
	unattended bool
	parent     context.Context //nolint:containedctx // of the request, which the exchange is
	ctx        context.Context //nolint:containedctx // see above
	cancel     context.CancelCauseFunc
	begun      time.Time

	mu sync.Mutex
	// limit is how long is being waited for.
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

// expire ends the request because there is no answer.
func (e *exchange) expire() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.cancel(&NoAnswerError{Server: e.server, After: e.limit})
}

// largestAnswer returns how many bytes the answer to a request may have.
func largestAnswer(request *http.Request) int64 {
	asked := requests.New(request.Method, request.URL)
	creates := asked.Name == "" && request.Method == http.MethodPost
	switch {
	case asked.Resource == "", asked.Name == "" && !creates, asked.Subresource == "log", strings.HasPrefix(asked.Subresource, "proxy"):
		return largestAnswers
	default:
		return largestObject
	}
}

// isEndless reports whether the answer ends when the client or the server wants it to.
func isEndless(request *http.Request) bool {
	query := request.URL.Query()
	for _, parameter := range []string{"watch", "follow"} {
		if value := query.Get(parameter); value == "true" || value == "1" {
			return true
		}
	}
	return false
}

// answered gives the rest of the answer the time that it may take.
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

// explain returns an error that says what has happened instead of how it was noticed.
func (e *exchange) explain(err error) error {
	var noAnswer *NoAnswerError
	var network net.Error
	switch {
	case errors.As(context.Cause(e.ctx), &noAnswer):
		return noAnswer
	case e.parent.Err() == nil && errors.As(err, &network) && network.Timeout():
		return &NoAnswerError{Server: e.server, After: time.Since(e.begun).Round(time.Second)}
	case e.bounds.remote && isMalformed(err):
		return &ForeignAnswerError{Server: e.server}
	case e.unattended && isClosed(err):
		return &ClosedError{Server: e.server}
	default:
		return err
	}
}

// isClosed reports whether a connection ended before there was an answer. Clients repeat reads that fail so, up to ten times.
func isClosed(err error) bool {
	return utilnet.IsConnectionReset(err) || utilnet.IsProbableEOF(err) || utilnet.IsHTTP2ConnectionLost(err)
}

// end ends the exchange, and what is under way of it.
func (e *exchange) end() {
	e.release()
	e.cancel(nil)
}

// release ends what bounds the exchange.
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
