// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package generating

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
)

// apiServer answers discovery requests as an API server with one broken aggregated API does.
type apiServer struct {
	requests atomic.Int32
	broken   atomic.Bool
	down     atomic.Bool
}

func (s *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.requests.Add(1)
	if s.down.Load() {
		http.Error(w, "down", http.StatusInternalServerError)
		return
	}
	answer := func(contentType string, content any) {
		w.Header().Set("Content-Type", contentType)
		_ = json.NewEncoder(w).Encode(content)
	}
	group := func(name string, freshness apidiscoveryv2.DiscoveryFreshness, kinds ...string) apidiscoveryv2.APIGroupDiscovery {
		served := apidiscoveryv2.APIVersionDiscovery{Version: "v1", Freshness: freshness}
		for _, kind := range kinds {
			served.Resources = append(served.Resources, apidiscoveryv2.APIResourceDiscovery{
				Resource:     kind + "s",
				ResponseKind: &metav1.GroupVersionKind{Group: name, Version: "v1", Kind: kind},
				Scope:        apidiscoveryv2.ScopeNamespace,
			})
		}
		return apidiscoveryv2.APIGroupDiscovery{ObjectMeta: metav1.ObjectMeta{Name: name}, Versions: []apidiscoveryv2.APIVersionDiscovery{served}}
	}
	const aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
	switch r.URL.Path {
	case "/version":
		answer("application/json", version.Info{Major: "1", Minor: "36", GitVersion: "v1.36.3"})
	case "/api":
		answer(aggregated, apidiscoveryv2.APIGroupDiscoveryList{Items: []apidiscoveryv2.APIGroupDiscovery{
			group("", apidiscoveryv2.DiscoveryFreshnessCurrent, "Secret", "ConfigMap"),
		}})
	case "/apis":
		metrics := group("metrics.k8s.io", apidiscoveryv2.DiscoveryFreshnessCurrent, "NodeMetrics")
		if s.broken.Load() {
			metrics = group("metrics.k8s.io", apidiscoveryv2.DiscoveryFreshnessStale)
		}
		answer(aggregated, apidiscoveryv2.APIGroupDiscoveryList{Items: []apidiscoveryv2.APIGroupDiscovery{
			metrics,
			group("apps", apidiscoveryv2.DiscoveryFreshnessCurrent, "StatefulSet", "Deployment"),
		}})
	default:
		http.NotFound(w, r)
	}
}

func (s *apiServer) client(t *testing.T) discovery.DiscoveryInterface {
	t.Helper()
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	clnt, err := discovery.NewDiscoveryClientForConfig(&rest.Config{Host: server.URL, QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	return clnt
}

func resourceNames(lists []*metav1.APIResourceList) map[string][]string {
	names := map[string][]string{}
	for _, list := range lists {
		for _, resource := range list.APIResources {
			names[list.GroupVersion] = append(names[list.GroupVersion], resource.Kind)
		}
	}
	return names
}

func TestReadDiscovery(t *testing.T) {
	t.Parallel()
	server := &apiServer{}
	clnt := server.client(t)

	healthy, err := readDiscovery(t.Context(), clnt)
	if err != nil {
		t.Fatal(err)
	}
	if got := server.requests.Load(); got != 3 {
		t.Errorf("got %d requests, want one for the version and one per root of the API", got)
	}
	if diff := cmp.Diff("v1.36.3", healthy.Version.GitVersion); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"apps/v1", "metrics.k8s.io/v1", "v1"}, healthy.GroupVersions); diff != "" {
		t.Error(diff)
	}
	wantResources := map[string][]string{"v1": {"ConfigMap", "Secret"}, "apps/v1": {"Deployment", "StatefulSet"}, "metrics.k8s.io/v1": {"NodeMetrics"}}
	if diff := cmp.Diff(wantResources, resourceNames(healthy.Resources)); diff != "" {
		t.Error(diff)
	}

	server.broken.Store(true)
	broken, err := readDiscovery(t.Context(), clnt)
	if err != nil {
		t.Fatalf("one broken API must not break all: %v", err)
	}
	delete(wantResources, "metrics.k8s.io/v1")
	if diff := cmp.Diff(wantResources, resourceNames(broken.Resources)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"metrics.k8s.io/v1"}, broken.Failed); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(healthy.GroupVersions, broken.GroupVersions); diff != "" {
		t.Errorf("a broken API version still exists: %s", diff)
	}
	if broken.Digest == healthy.Digest {
		t.Error("different content has the same digest")
	}
	again, err := readDiscovery(t.Context(), clnt)
	if err != nil || again.Digest != broken.Digest {
		t.Errorf("the digest is not stable: %v", err)
	}

	server.down.Store(true)
	if _, err := readDiscovery(t.Context(), clnt); err == nil {
		t.Error("a server that is down is not noticed")
	}
	if _, err := readDiscovery(t.Context(), nil); err == nil {
		t.Error("a missing discovery client is not noticed")
	}
}

func TestDiscoveryCache(t *testing.T) {
	t.Parallel()
	var clock atomic.Int64
	cache := newDiscoveryCache(func() time.Time { return time.Unix(0, clock.Load()) })
	server := &apiServer{}
	clnt := server.client(t)
	requests := func(reason string, want int32) {
		t.Helper()
		before := server.requests.Load()
		if _, err := cache.get(t.Context(), clnt); err != nil {
			t.Fatalf("%s: %v", reason, err)
		}
		if got := server.requests.Load() - before; got != want {
			t.Errorf("%s: got %d requests, want %d", reason, got, want)
		}
	}

	requests("nothing is known yet", 3)
	requests("it is remembered", 0)
	clock.Add(int64(discoveryLifetime - 1))
	requests("it is still fresh", 0)
	clock.Add(1)
	requests("it has expired", 3)
	cache.invalidate()
	requests("it was invalidated", 3)

	server.broken.Store(true)
	cache.invalidate()
	requests("one API is broken", 3)
	clock.Add(int64(brokenDiscoveryLifetime))
	requests("a broken API is looked at sooner", 3)

	server.down.Store(true)
	cache.invalidate()
	if _, err := cache.get(t.Context(), clnt); err == nil {
		t.Error("a failure is not reported")
	}
	server.down.Store(false)
	requests("a failure is not remembered", 3)

	clock.Add(int64(discoveryRetention + 1))
	other := (&apiServer{}).client(t)
	if _, err := cache.get(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	if _, kept := cache.entries[clnt]; kept || len(cache.entries) != 1 {
		t.Error("an unused connection is kept forever")
	}
}
