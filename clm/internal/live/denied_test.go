// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package live_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/component-operator/runtime/clm/internal/live"
	"github.com/component-operator/runtime/internal/requests"
	"github.com/component-operator/runtime/internal/testenv"
)

func TestUnansweredRequestsAreErrors(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		reason, resource, want string
		look                   func(w *world) error
	}{
		{"half a tree is not shown as if it were whole", "replicasets", "listing replicasets in namespace", func(w *world) error {
			_, err := live.Tree(w.Context(), w.options)
			return err
		}},
		{"the same holds for reasons", "events", "listing the events of ", func(w *world) error {
			_, err := live.Tree(w.Context(), w.options)
			return err
		}},
		{"a watch that cannot begin", "events", "listing what to watch", func(w *world) error {
			return live.WatchEvents(w.Context(), w.options, nil, nil)
		}},
	} {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.create(workload("Deployment", "web", neverReady))
			config := testenv.Intercept(w.config, func(request *http.Request, next http.RoundTripper) (*http.Response, error) {
				if requests.New(request.Method, request.URL).Resource == test.resource {
					return nil, errors.New("the line is dead")
				}
				return next.RoundTrip(request)
			})
			w.options.Client = newClient(t, config)
			if err := test.look(w); err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "the line is dead") {
				t.Errorf("expected an error that says %q, and why, got %v", test.want, err)
			}
		})
	}
}
