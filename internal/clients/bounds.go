// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/textproto"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/connrotation"

	"github.com/component-operator/runtime/internal/texts"
)

const (
	// largestAnswers is the maximum size of all responses of a remote cluster that are being read at the same time, in
	// bytes.
	largestAnswers = 64 << 20
	// largestEvent is the maximum size of one watch event, a line, of a remote cluster, in bytes.
	largestEvent = 16 << 20
)

// bounds limits the duration of a connection's requests, and the size of responses of a remote server.
type bounds struct {
	patience Patience
	// remote is set for the cluster of a kubeconfig.
	remote bool
	// single is set if each request uses a network connection of its own.
	single bool
	// open is the number of bytes read of responses that are not closed yet.
	open atomic.Int64
	// sockets are the open network connections of a remote connection; nil for others.
	sockets *connrotation.Dialer
}

// confine applies the bounds to clients of the configuration. It must be called before any other wrapper is added.
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
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return boundedTransport{bounds: b, next: next} })
}

// boundedTransport is a transport with bounds. It must be the innermost wrapper.
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
	request.Close = request.Close || t.bounds.single
	response, err := t.next.RoundTrip(request)
	if longest, ok := request.Context().Value(longestKey{}).(*Longest); ok && t.bounds.remote {
		longest.note(time.Since(e.begun))
	}
	if err != nil {
		err = e.explain(err)
		e.end()
		return nil, err
	}
	e.answered()
	if response.StatusCode == http.StatusSwitchingProtocols {
		return t.switched(e, request, response)
	}
	if e.isUnattended() {
		response.Header.Del("Retry-After")
	}
	response.Body = &boundedBody{ReadCloser: response.Body, exchange: e}
	if err := t.bounds.examine(e.server, request, response); err != nil {
		err = e.explain(err)
		_ = response.Body.Close()
		return nil, err
	}
	return response, nil
}

// switched handles a response that switches protocols, after which the connection has no bounds. A server may switch
// only if the request asks for it.
func (t boundedTransport) switched(e *exchange, request *http.Request, response *http.Response) (*http.Response, error) {
	if request.Header.Get("Upgrade") != "" {
		// The body is the new connection, and can be written to.
		e.limit.Stop()
		return response, nil
	}
	_ = response.Body.Close()
	e.end()
	return nil, foreignAnswer(e.server, response.StatusCode)
}

// exchange is a request and its response.
type exchange struct {
	bounds *bounds
	server string
	// endless is set if the response is a stream without an end, such as a watch.
	endless bool
	parent  context.Context //nolint:containedctx // of the request, which the exchange is
	ctx     context.Context //nolint:containedctx // see above
	cancel  context.CancelCauseFunc
	begun   time.Time
	// limit ends the request.
	limit *time.Timer
}

func (b *bounds) begin(request *http.Request) *exchange {
	e := &exchange{bounds: b, server: request.URL.Host, endless: isEndless(request), parent: request.Context(), begun: time.Now()}
	e.ctx, e.cancel = context.WithCancelCause(e.parent)
	limit := b.patience.Whole
	if request.Method == http.MethodGet || request.Method == http.MethodHead {
		limit = b.patience.Answer
	}
	e.expireAfter(limit)
	return e
}

// expireAfter ends the request when it has taken too long.
func (e *exchange) expireAfter(limit time.Duration) {
	e.limit = time.AfterFunc(max(limit-time.Since(e.begun), 0), func() { e.cancel(&NoAnswerError{Server: e.server, After: limit}) })
}

// isEndless reports whether the response is a stream without an end of its own.
func isEndless(request *http.Request) bool {
	query := request.URL.Query()
	return slices.ContainsFunc([]string{"watch", "follow"}, func(parameter string) bool {
		return query.Get(parameter) == "true" || query.Get(parameter) == "1"
	})
}

// answered sets the time limit for the rest of the response, after it has begun.
func (e *exchange) answered() {
	if e.endless {
		e.limit.Stop()
	} else if e.limit.Stop() {
		e.expireAfter(e.bounds.patience.Whole)
	}
}

// explain returns a clearer error for timeouts, malformed responses of remote servers, and unattended requests without
// an answer; otherwise it returns the given one.
func (e *exchange) explain(err error) error {
	noAnswer, expired := errors.AsType[*NoAnswerError](context.Cause(e.ctx))
	network, isNetwork := errors.AsType[net.Error](err)
	switch {
	case expired:
		return noAnswer
	case e.parent.Err() == nil && isNetwork && network.Timeout():
		return &NoAnswerError{Server: e.server, After: time.Since(e.begun).Round(time.Second)}
	case e.bounds.remote && isMalformed(err):
		return foreignAnswer(e.server, 0)
	case e.isUnattended() && isClosed(err):
		return fmt.Errorf("the cluster at %s closed the connection without an answer", e.server)
	default:
		return err
	}
}

// isUnattended reports whether nothing limits how often clients repeat the request: the server is remote, and the
// context has no deadline.
func (e *exchange) isUnattended() bool {
	_, limited := e.parent.Deadline()
	return e.bounds.remote && !limited
}

// isClosed reports whether a connection was closed before there was a response. Clients repeat such reads up to ten
// times.
func isClosed(err error) bool {
	return utilnet.IsConnectionReset(err) || utilnet.IsProbableEOF(err) || utilnet.IsHTTP2ConnectionLost(err)
}

// end ends the exchange, and cancels the request if it is still under way.
func (e *exchange) end() {
	e.limit.Stop()
	e.cancel(nil)
}

// boundedBody is the body of a response. The exchange ends when the body was read or closed.
type boundedBody struct {
	io.ReadCloser
	exchange *exchange
	// taken is the number of bytes read so far; for a stream, since the last line.
	taken atomic.Int64
	close sync.Once
}

// Read fails if the response is not complete in time, or is too large.
func (b *boundedBody) Read(buffer []byte) (int, error) {
	count, err := b.ReadCloser.Read(buffer)
	if b.exchange.bounds.remote {
		if limit := b.take(buffer[:count]); limit > 0 {
			return 0, fmt.Errorf("the answer of the cluster at %s is larger than %d MiB", b.exchange.server, limit>>20)
		}
	}
	switch {
	case errors.Is(err, io.EOF):
		b.exchange.end()
	case err != nil:
		err = b.exchange.explain(err)
	}
	return count, err
}

// take counts bytes. It returns the limit that they exceed, or 0 if they exceed none.
func (b *boundedBody) take(content []byte) (exceeded int64) {
	if !b.exchange.endless {
		b.taken.Add(int64(len(content)))
		if b.exchange.bounds.open.Add(int64(len(content))) > largestAnswers {
			return largestAnswers
		}
		return 0
	}
	if line := bytes.LastIndexByte(content, '\n'); line >= 0 {
		content = content[line+1:]
		b.taken.Store(0)
	}
	if b.taken.Add(int64(len(content))) > largestEvent {
		return largestEvent
	}
	return 0
}

// Close ends the exchange, even if the body was not read.
func (b *boundedBody) Close() error {
	b.close.Do(func() {
		if !b.exchange.endless {
			b.exchange.bounds.open.Add(-b.taken.Load())
		}
	})
	b.exchange.end()
	return b.ReadCloser.Close()
}

const (
	// longestRetryAfter is the maximum Retry-After that a remote server may ask for, in seconds.
	longestRetryAfter = 5
	// largestError is the maximum size of the part of an error response that is examined, in bytes. The response may
	// quote an object more than once.
	largestError = 8 << 20
)

// foreignBody replaces the body of a response that is not from an API server. Clients turn it into an error.
const foreignBody = "the answer is not from a Kubernetes API server"

// ownTexts are responses of API servers that are not of kind Status.
var ownTexts = []string{"404 page not found", "Too many requests, please try again later."}

// examine examines an error response. It removes values of objects from the responses of all API servers, because
// errors are shown and recorded. It accepts a response of a remote server only if it is from an API server: a
// kubeconfig may lead to any server, and its author must not see that server's responses.
func (b *bounds) examine(server string, request *http.Request, response *http.Response) error {
	code := response.StatusCode
	switch {
	case code < http.StatusMultipleChoices, code == http.StatusNotModified, code < http.StatusBadRequest && !b.remote:
		return nil
	case code < http.StatusBadRequest:
		// Redirects are not followed: the allowed hosts were checked for the server in the kubeconfig only.
		return foreignAnswer(server, code)
	}
	if b.remote {
		boundRetryAfter(response.Header)
	}
	head, err := io.ReadAll(io.LimitReader(response.Body, largestError))
	if err != nil {
		return err
	}
	status := statusOf(head)
	switch {
	case status == nil && b.remote && !slices.Contains(ownTexts, strings.TrimSpace(string(head))):
		replaceBody(response, "text/plain", []byte(foreignBody))
	case status != nil && texts.Status(status, secretIn(request)):
		encoded, err := json.Marshal(status)
		if err != nil {
			return err
		}
		replaceBody(response, "application/json", encoded)
	default:
		response.Body = body{Reader: io.MultiReader(bytes.NewReader(head), response.Body), Closer: response.Body}
	}
	return nil
}

func boundRetryAfter(header http.Header) {
	text := header.Get("Retry-After")
	if seconds, err := strconv.Atoi(text); text != "" && (err != nil || seconds > longestRetryAfter) {
		header.Set("Retry-After", strconv.Itoa(longestRetryAfter))
	}
}

func replaceBody(response *http.Response, contentType string, content []byte) {
	response.Header.Set("Content-Type", contentType)
	response.Header.Set("Content-Length", strconv.Itoa(len(content)))
	response.ContentLength = int64(len(content))
	response.Body = body{Reader: bytes.NewReader(content), Closer: response.Body}
}

// secretIn returns the body of a request for a Secret.
func secretIn(request *http.Request) []byte {
	if request.GetBody == nil || !strings.Contains(request.URL.Path+"/", "/secrets/") {
		return nil
	}
	sent, err := request.GetBody()
	if err != nil {
		return nil
	}
	defer func() { _ = sent.Close() }()
	content, _ := io.ReadAll(sent) // what there is, for redaction
	return content
}

// statusOf decodes a Status of the API, in JSON or protobuf; nil if the content is something else.
func statusOf(content []byte) *metav1.Status {
	status := &metav1.Status{}
	if encoded, ok := bytes.CutPrefix(content, []byte("k8s\x00")); ok {
		var unknown runtime.Unknown
		if unknown.Unmarshal(encoded) != nil || unknown.APIVersion != "v1" || unknown.Kind != "Status" || status.Unmarshal(unknown.Raw) != nil {
			return nil
		}
		status.APIVersion, status.Kind = unknown.APIVersion, unknown.Kind
		return status
	}
	if json.Unmarshal(content, status) != nil || status.APIVersion != "v1" || status.Kind != "Status" {
		return nil
	}
	return status
}

// isMalformed reports whether an error means that the response is not HTTP. Such an error quotes the response.
func isMalformed(err error) bool {
	_, isProtocol := errors.AsType[textproto.ProtocolError](err)
	return isProtocol || strings.Contains(err.Error(), "malformed HTTP")
}

// foreignAnswer is the error about a response that is not from a Kubernetes API server, with its status code; zero if
// it was not HTTP. It does not quote the response.
func foreignAnswer(server string, code int) error {
	if code == 0 {
		return fmt.Errorf("the answer of %s is not from a Kubernetes API server", server)
	}
	return fmt.Errorf("the answer of %s (status code %d) is not from a Kubernetes API server", server, code)
}
