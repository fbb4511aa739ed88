// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package requests_test

import (
	"errors"
	"net/http"
	"net/url"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/component-operator/runtime/internal/requests"
)

func TestNew(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		reason, path string
		want         requests.Request
	}{
		{reason: "discovery is about no object", path: "/apis/apps/v1", want: requests.Request{}},
		{reason: "so are other paths", path: "/readyz", want: requests.Request{}},
		{reason: "the list of namespaces", path: "/api/v1/namespaces", want: requests.Request{Version: "v1", Resource: "namespaces"}},
		{reason: "a namespace is no namespaced object", path: "/api/v1/namespaces/demo", want: requests.Request{Version: "v1", Resource: "namespaces", Name: "demo"}},
		{
			reason: "nor is its subresource", path: "/api/v1/namespaces/demo/finalize",
			want: requests.Request{Version: "v1", Resource: "namespaces", Name: "demo", Subresource: "finalize"},
		},
		{
			reason: "cluster-scoped, with a subresource", path: "/apis/example.io/v1/things/demo/status",
			want: requests.Request{Group: "example.io", Version: "v1", Resource: "things", Name: "demo", Subresource: "status"},
		},
		{
			reason: "namespaced", path: "/apis/apps/v1/namespaces/demo/deployments/web/scale",
			want: requests.Request{Group: "apps", Version: "v1", Resource: "deployments", Namespace: "demo", Name: "web", Subresource: "scale"},
		},
	} {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			got := requests.New("", &url.URL{Path: test.path})
			got.Path, got.Query = "", nil
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.path, diff)
			}
		})
	}
}

// TestRequestsUnderWay counts requests while they are answered and afterwards, whether there was an answer or not.
func TestRequestsUnderWay(t *testing.T) {
	t.Parallel()
	recorder := &requests.Recorder{}
	expect := func(when string, underWay, recorded int) {
		t.Helper()
		if recorder.UnderWay() != underWay || recorder.Len() != recorded {
			t.Errorf("%s: want %d requests under way and %d recorded, got %d and %d", when, underWay, recorded, recorder.UnderWay(), recorder.Len())
		}
	}
	for recorded, outcome := range []error{nil, errors.New("no answer")} {
		transport := recorder.Wrap(requests.RoundTripper(func(*http.Request) (*http.Response, error) {
			expect("before the answer", 1, recorded)
			if outcome != nil {
				return nil, outcome
			}
			return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
		}))
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://127.0.0.1/version", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		response, err := transport.RoundTrip(request)
		if !errors.Is(err, outcome) {
			t.Fatal(err)
		}
		if response != nil {
			_ = response.Body.Close()
		}
		expect("after the answer", 0, recorded+1)
	}
}

// TestMain fails if a test leaves a goroutine behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
