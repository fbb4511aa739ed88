// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"k8s.io/client-go/rest"

	"github.com/component-operator/runtime/internal/clients"
)

func TestClustersThatAreOthers(t *testing.T) {
	t.Parallel()
	local, a, b := Cluster{UID: LocalCluster}, Cluster{UID: "a", Host: "https://one"}, Cluster{UID: "b", Host: "https://one"}
	for _, test := range []struct {
		reason            string
		recorded, present Cluster
		want              bool
	}{
		{"nobody has recorded where they are", Cluster{}, a, false},
		{"where the kubeconfig leads to must not be read", a, Cluster{}, false},
		{"the address has changed, and the cluster has not", a, Cluster{UID: "a", Host: "https://two"}, false},
		{"the address is the same, and the cluster is another one", a, b, true},
		{"from here to there", local, a, true},
		{"from there to here", a, local, true},
		{"a kubeconfig leads to the cluster of the component", local, Cluster{UID: "own", Host: "https://own"}, false},
		{"it did", Cluster{UID: "own", Host: "https://own"}, local, false},
		{"here", local, local, false},
	} {
		if got := test.recorded.IsOther(test.present, "own"); got != test.want {
			t.Errorf("%s: want %t, got %t", test.reason, test.want, got)
		}
		if got := ParseCluster(test.recorded.String()); got != test.recorded {
			t.Errorf("%s: %v became %v", test.reason, test.recorded, got)
		}
	}
}

func TestSettlingOfTypes(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		reason      string
		changes     int
		every       time.Duration
		least, most int64
	}{
		{"one change is looked at soon, and once more", 1, 0, 2, 2},
		{"so are many in short succession", 10, 100 * time.Millisecond, 4, 4},
		{"changes without an end are looked at now and then", 1000, 500 * time.Millisecond, 80, 120},
	} {
		synctest.Test(t, func(t *testing.T) {
			var settled atomic.Int64
			changes := &typeChanges{settled: func() { settled.Add(1) }}
			for range tc.changes {
				changes.noteChange()
				time.Sleep(tc.every)
			}
			time.Sleep(time.Minute)
			if got := settled.Load(); got < tc.least || got > tc.most {
				t.Errorf("%s: expected %d to %d looks, got %d", tc.reason, tc.least, tc.most, got)
			}
		})
	}
}

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

// TestMain fails if a test leaves a goroutine behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
