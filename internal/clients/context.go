// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apitypes "k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
)

const (
	// defaultAnswer is the default of Patience.Answer.
	defaultAnswer = 30 * time.Second
	// defaultWhole is the default of Patience.Whole. An API server ends a request after 60 seconds with an error.
	defaultWhole = 65 * time.Second
	// forever is for clients without limits.
	forever = time.Duration(math.MaxInt64)
)

// Patience limits how long a connection waits for its server. Watches and followed logs are limited by Answer only.
type Patience struct {
	// Answer is the maximum time until the response to a read begins. Defaults to 30 seconds.
	Answer time.Duration
	// Whole is the maximum time until any response is complete. It is longer than Answer because a write may wait for
	// admission webhooks. Defaults to 65 seconds.
	Whole time.Duration
}

func (p Patience) complete() Patience {
	p.Answer = cmp.Or(p.Answer, defaultAnswer)
	p.Whole = cmp.Or(p.Whole, max(defaultWhole, p.Answer))
	return p
}

// Longest is the duration of the longest request to a remote cluster. It is safe for concurrent use.
type Longest struct{ nanoseconds atomic.Int64 }

// Duration returns the duration; zero if no request has ended.
func (l *Longest) Duration() time.Duration { return time.Duration(l.nanoseconds.Load()) }

func (l *Longest) note(duration time.Duration) {
	for {
		longest := l.nanoseconds.Load()
		if int64(duration) <= longest || l.nanoseconds.CompareAndSwap(longest, int64(duration)) {
			return
		}
	}
}

type longestKey struct{}

// WithLongest returns a context, and the longest time that one of its requests has taken until the response began.
func WithLongest(ctx context.Context) (context.Context, *Longest) {
	longest := &Longest{}
	return context.WithValue(ctx, longestKey{}, longest), longest
}

// NoAnswerError says that a server did not respond in time. It may have carried out the request. The error is no
// net.Error with a timeout, because clients repeat such requests by themselves.
type NoAnswerError struct {
	// Server is the host of the server, with its port if it has one.
	Server string
	// After is how long the client has waited.
	After time.Duration
}

// Error returns a message with the server and the time without an answer.
func (e *NoAnswerError) Error() string {
	return fmt.Sprintf("no answer from the cluster at %s for %s", e.Server, e.After)
}

// largestStatus is the maximum size that is read of the response to a deletion, in bytes; a Status is far smaller.
const largestStatus = 64 << 10

// Deletion records whether the object is gone after a DELETE, from the response. Clients discard the response, so it
// would otherwise take another request. The zero value is ready for use, for one request.
type Deletion struct {
	gone apitypes.UID
}

// Gone reports whether the server has confirmed the removal of the object with this UID. If not, the object may still
// be gone: not all servers confirm it, and the client may not be one of this package.
func (d *Deletion) Gone(uid apitypes.UID) bool {
	return uid != "" && d.gone == uid
}

type deletionKey struct{}

// WithDeletion returns a context for one DELETE, whose response fills the deletion.
func WithDeletion(ctx context.Context, deletion *Deletion) context.Context {
	return context.WithValue(ctx, deletionKey{}, deletion)
}

// deletions is the transport that fills Deletions.
type deletions struct{ next http.RoundTripper }

// RoundTrip sends the request, and examines the response if the context has a Deletion. The API server responds with
// the object if finalizers keep it, and with a Status with its UID if this request has removed it.
func (t deletions) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := t.next.RoundTrip(request)
	deletion, _ := request.Context().Value(deletionKey{}).(*Deletion)
	if err != nil || deletion == nil || request.Method != http.MethodDelete || response.StatusCode != http.StatusOK {
		return response, err
	}
	head, err := io.ReadAll(io.LimitReader(response.Body, largestStatus))
	response.Body = body{Reader: io.MultiReader(bytes.NewReader(head), response.Body), Closer: response.Body}
	if err != nil {
		// The reader of the body gets the same error.
		return response, nil
	}
	var status metav1.Status
	if json.Unmarshal(head, &status) == nil && status.Kind == "Status" && status.Status == metav1.StatusSuccess && status.Details != nil {
		deletion.gone = status.Details.UID
	}
	return response, nil
}

// WrappedRoundTripper returns the wrapped transport, for clients that unwrap transports.
func (t deletions) WrappedRoundTripper() http.RoundTripper { return t.next }

type body struct {
	io.Reader
	io.Closer
}

// warningCode is the code of warnings that are meant for people.
const warningCode = 299

// Collector collects warnings of the API server. The zero value is ready for use; it is safe for concurrent use.
type Collector struct {
	mu       sync.Mutex
	warnings []string
}

// Warnings returns all distinct warnings so far, sorted.
func (c *Collector) Warnings() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.warnings)
}

func (c *Collector) add(warning string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if at, found := slices.BinarySearch(c.warnings, warning); !found {
		c.warnings = slices.Insert(c.warnings, at, warning)
	}
}

type collectorKey struct{}

// WithWarnings returns a context whose requests pass warnings to the collector instead of the handler of the
// connection. It works with all connections of this package.
func WithWarnings(ctx context.Context, collector *Collector) context.Context {
	return context.WithValue(ctx, collectorKey{}, collector)
}

// collecting passes warnings to the Collector of the request's context, or to the next handler.
type collecting struct {
	next rest.WarningHandlerWithContext
}

// HandleWarningHeaderWithContext collects the warning or passes it on.
func (h collecting) HandleWarningHeaderWithContext(ctx context.Context, code int, agent string, text string) {
	if collector, ok := ctx.Value(collectorKey{}).(*Collector); ok && collector != nil {
		if code == warningCode && text != "" {
			collector.add(text)
		}
		return
	}
	h.next.HandleWarningHeaderWithContext(ctx, code, agent, text)
}
