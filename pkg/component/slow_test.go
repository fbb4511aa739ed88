// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/component-operator/runtime/internal/requests"
	"github.com/component-operator/runtime/internal/testenv"
)

// TestOneSlowComponentDoesNotStarveOthers has the server answer no write to the dependents of one component, as a webhook
// does that hangs. The others must not notice.
func TestOneSlowComponentDoesNotStarveOthers(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var held atomic.Int64
	released := make(chan struct{})
	r.config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return requests.RoundTripper(func(request *http.Request) (*http.Response, error) {
			if request.Method == http.MethodPatch && strings.Contains(request.URL.Path, "/configmaps/slow-") {
				held.Add(1)
				<-released
			}
			return next.RoundTrip(request)
		})
	})
	r.start(r.reconciler(ReconcilerOptions{}))
	component := func(name string) *Widget {
		var objects strings.Builder
		for i := range 40 {
			fmt.Fprintf(&objects, "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: %s-%d}}\n", name, i)
		}
		widget := r.widget(objects.String())
		widget.Name = name
		r.create(widget)
		return widget
	}
	slow := component("slow")
	testenv.Eventually(t, func() (bool, string) { return held.Load() > 1, "the slow component has not begun" })
	for i := range 10 {
		awaitReady(r, component(fmt.Sprintf("fast%d", i)))
	}
	if count := held.Load(); count > 16 {
		t.Errorf("want at most 16 requests side by side, got %d", count)
	}
	if err := r.client.Get(t.Context(), request(slow.Namespace, slow.Name).NamespacedName, slow); err != nil || slow.Status.IsReady() {
		t.Errorf("want the slow component to be still under way, got %+v, %v", slow.Status.State, err)
	}
	close(released)
	awaitReady(r, slow)
}
