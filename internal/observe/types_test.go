// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package observe_test

import (
	"net/http"
	"sync/atomic"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/component-operator/runtime/internal/observe"
	"github.com/component-operator/runtime/internal/requests"
	"github.com/component-operator/runtime/internal/testenv"
)

// listened counts what a listener is told.
type listened struct {
	watched atomic.Bool
	changes atomic.Int64
}

func (l *listened) listen(to *observe.Cache) {
	to.WatchTypes(l.watched.Store, func() { l.changes.Add(1) })
}

func TestTypesAreWatched(t *testing.T) {
	t.Parallel()
	w, l := newWorld(t), &listened{}
	l.listen(w.cache)
	w.cache.WatchTypes(nil, nil) // has no effect
	testenv.Eventually(t, func() (bool, string) { return l.watched.Load(), "types are not watched" })

	before := l.changes.Load()
	w.defineWidgets()
	testenv.Eventually(t, func() (bool, string) { return l.changes.Load() > before, "a new type was not noticed" })
	for _, resource := range []string{"customresourcedefinitions", "apiservices"} {
		if watches, lists := w.watches(resource); watches+lists == 0 || watches+lists > 2 {
			t.Errorf("expected one watch, and a list if the server does not stream it, of %s, got %d and %d", resource, watches, lists)
		}
	}
}

func TestTypesThatMayNotBeWatched(t *testing.T) {
	t.Parallel()
	refusals := make(chan string, 100)
	w := newWorld(t, func(config *rest.Config) {
		config.Wrap(func(next http.RoundTripper) http.RoundTripper {
			return requests.RoundTripper(func(request *http.Request) (*http.Response, error) {
				if request.URL.Path == "/apis/apiregistration.k8s.io/v1/apiservices" {
					refusals <- request.URL.Path
					return &http.Response{StatusCode: http.StatusForbidden, Header: http.Header{}, Body: http.NoBody, Request: request}, nil
				}
				return next.RoundTrip(request)
			})
		})
	})
	l := &listened{}
	l.listen(w.cache)
	<-refusals
	testenv.Eventually(t, func() (bool, string) {
		watches, _ := w.watches("customresourcedefinitions")
		return watches > 0, "definitions are not watched"
	})
	if l.watched.Load() {
		t.Error("expected not to claim that all types are watched")
	}
}
