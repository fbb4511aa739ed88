// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package requests_test

import (
	"net/url"
	"testing"

	"github.com/google/go-cmp/cmp"

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
