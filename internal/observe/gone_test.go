// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package observe_test

import (
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/component-operator/runtime/internal/observe"
)

// expiring answers the first watch as a server does that has forgotten where it is to begin.
type expiring struct {
	next    http.RoundTripper
	watches atomic.Int32
}

func (e *expiring) RoundTrip(request *http.Request) (*http.Response, error) {
	if !request.URL.Query().Has("watch") || e.watches.Add(1) > 1 {
		return e.next.RoundTrip(request)
	}
	const body = `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"too old resource version","reason":"Expired","code":410}`
	return &http.Response{
		StatusCode: http.StatusGone, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body)), Request: request,
	}, nil
}

// TestOwnWriteThatIsGoneBeforeItWasSeen has the list of a watch that could not be continued say that what was written is gone.
func TestOwnWriteThatIsGoneBeforeItWasSeen(t *testing.T) {
	t.Parallel()
	answers := &expiring{}
	w := newPatientWorld(t, time.Hour, func(config *rest.Config) {
		config.Wrap(func(next http.RoundTripper) http.RoundTripper {
			answers.next = next
			return answers
		})
	})
	w.watch("o", need(configMaps, w.namespace))
	object := w.write("o", "a", "1")
	w.cache.Record(configMaps, w.namespace, "a", w.reader.Read(object))
	w.remove(object)
	before := w.count("o")
	w.cache.Follow()
	w.awaitNews("o", before)
	if _, view := w.get("a"); view != observe.Absent {
		t.Errorf("got view %v", view)
	}
}
