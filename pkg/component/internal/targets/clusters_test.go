// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/component-operator/runtime/internal/clients"
)

// active is the number of connections that are kept.
type active struct{ count int }

func (a *active) ClientCreated()          {}
func (a *active) ClientsActive(count int) { a.count = count }
func (a *active) HostDropped(string)      {}

// TestServersThatLieAboutTheirIdentity has the server of a kubeconfig choose the UID by which its cluster is recorded.
func TestServersThatLieAboutTheirIdentity(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		reason, uid string
		valid       bool
	}{
		{"a UUID", "0b6e8a51-6a66-4a0c-9a0c-4a9f1e6f3c11", true},
		{"none", "", true},
		{"it stands for the cluster of the component", LocalCluster, false},
		{"with an address, the record would be read as that", LocalCluster + "@", false},
		{"too large for a status", strings.Repeat("x", 1<<20), false},
		{"not JSON", `"`, false},
	} {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
				writer.Header().Set("Content-Type", "application/json")
				_, _ = io.WriteString(writer, map[string]string{
					"/api":    `{"kind": "APIVersions", "versions": ["v1"]}`,
					"/apis":   `{"kind": "APIGroupList", "apiVersion": "v1", "groups": []}`,
					"/api/v1": `{"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "v1", "resources": [{"name": "namespaces", "kind": "Namespace", "verbs": ["get"]}]}`,
					"/api/v1/namespaces/kube-system": `{"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": {"name": "kube-system", "uid": "` +
						test.uid + `"}}`,
				}[request.URL.Path])
			}))
			defer server.Close()
			kept := &active{}
			factory, err := clients.New(clients.Options{Name: "test", Config: &rest.Config{Host: server.URL}, Metrics: kept})
			if err != nil {
				t.Fatal(err)
			}
			defer factory.Close()
			kubeConfig := fmt.Sprintf("{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: c, user: u}}], "+
				"clusters: [{name: c, cluster: {server: %q}}], users: [{name: u, user: {}}]}", server.URL)
			found, err := New(Options{Factory: factory, Name: "test"}).Identify(t.Context(), Identity{KubeConfig: []byte(kubeConfig)})
			if valid := err == nil && found.UID == test.uid; valid != test.valid {
				t.Errorf("got %.200v, %.200v", found, err)
			}
			if dropped := kept.count == 0; dropped == test.valid {
				t.Errorf("got %d kept connections", kept.count)
			}
		})
	}
}
