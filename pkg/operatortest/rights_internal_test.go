// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package operatortest

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/component-operator/runtime/internal/requests"
)

// TestRights checks which rights count as denied and as unused.
func TestRights(t *testing.T) {
	t.Parallel()
	c := &Cluster{requests: &requests.Recorder{}}
	for _, right := range []string{
		"get services", "list services", "watch services", "patch services", "create services", "delete services",
		"get secrets", "list secrets", "get pods", "create roles.rbac.authorization.k8s.io", "patch roles.rbac.authorization.k8s.io",
	} {
		verb, resource, _ := strings.Cut(right, " ")
		resource, group, _ := strings.Cut(resource, ".")
		c.rights = append(c.rights, grant{verb: verb, group: group, resource: resource})
	}
	server := http.NewServeMux()
	server.HandleFunc("PATCH /api/v1/namespaces/a/services/created", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusCreated) })
	server.HandleFunc("POST /api/v1/namespaces/a/configmaps", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) })
	server.HandleFunc("DELETE /api/v1/namespaces/a/services/protected", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) })
	var received string
	server.HandleFunc("PATCH /apis/rbac.authorization.k8s.io/v1/namespaces/a/roles/reader", func(w http.ResponseWriter, r *http.Request) {
		content, _ := io.ReadAll(r.Body)
		received = string(content)
		w.WriteHeader(http.StatusCreated)
	})
	server.HandleFunc("/", func(http.ResponseWriter, *http.Request) {})
	handler := requests.RoundTripper(func(r *http.Request) (*http.Response, error) {
		recorder := httptest.NewRecorder()
		server.ServeHTTP(recorder, r)
		return recorder.Result(), nil
	})
	transport := c.passedOn.wrap(c.requests.Wrap(handler))
	role := `{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"Role","rules":[{"apiGroups":[""],"resources":["pods"],"verbs":["get"]}]}`
	for _, sent := range []struct{ method, path, body string }{
		{http.MethodGet, "/api/v1/services?watch=true&sendInitialEvents=true", ""},
		{http.MethodPatch, "/api/v1/namespaces/a/services/created", ""},
		{http.MethodPost, "/api/v1/namespaces/a/configmaps", ""},
		{http.MethodDelete, "/api/v1/namespaces/a/services/protected", ""},
		{http.MethodPatch, "/apis/rbac.authorization.k8s.io/v1/namespaces/a/roles/reader", role},
	} {
		response, err := transport.RoundTrip(httptest.NewRequestWithContext(t.Context(), sent.method, sent.path, strings.NewReader(sent.body)))
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
	}
	if received != role {
		t.Errorf("the API server received %q, want %q", received, role)
	}
	want := Rights{Denied: []string{"create configmaps"}, Unused: []string{"get secrets", "list secrets"}}
	if diff := cmp.Diff(fmt.Sprint(want), fmt.Sprint(c.Rights())); diff != "" {
		t.Errorf("unexpected rights:\n%s", diff)
	}
}
