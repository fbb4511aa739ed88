// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package clients_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/component-operator/runtime/internal/clients"
)

func TestDeletion(t *testing.T) {
	t.Parallel()
	const gone = `{"kind": "Status", "status": "Success", "details": {"uid": "a"}}`
	tests := []struct {
		reason string
		method string
		code   int
		answer string
		want   bool
	}{
		{"the server says that it removed the object", http.MethodDelete, http.StatusOK, gone, true},
		{"the object is still there", http.MethodDelete, http.StatusOK, `{"kind": "ConfigMap", "metadata": {"uid": "a"}}`, false},
		{"the deletion was merely accepted", http.MethodDelete, http.StatusAccepted, gone, false},
		{"it is about another object", http.MethodDelete, http.StatusOK, strings.ReplaceAll(gone, `"a"`, `"b"`), false},
		{"the server does not say which object it is about", http.MethodDelete, http.StatusOK, `{"kind": "Status", "status": "Success"}`, false},
		{"it failed", http.MethodDelete, http.StatusOK, strings.ReplaceAll(gone, "Success", "Failure"), false},
		{"the answer cannot be read", http.MethodDelete, http.StatusOK, `{`, false},
		{"the request was another one", http.MethodPatch, http.StatusOK, gone, false},
	}
	for _, test := range tests {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(test.code)
			_, _ = io.WriteString(w, test.answer)
		}))
		config := &rest.Config{Host: server.URL}
		clients.Instrument(config)
		client, err := rest.HTTPClientFor(config)
		if err != nil {
			t.Fatal(err)
		}
		var deletion clients.Deletion
		request, err := http.NewRequestWithContext(clients.WithDeletion(t.Context(), &deletion), test.method, server.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		server.Close()
		if err != nil || string(body) != test.answer {
			t.Errorf("%s: expected the answer to reach the caller, got %q, %v", test.reason, body, err)
		}
		if deletion.Gone("a") != test.want || deletion.Gone("") {
			t.Errorf("%s: expected that the object is known to be gone: %t", test.reason, test.want)
		}
	}
}
