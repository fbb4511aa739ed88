// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package observe_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/go-logr/logr/funcr"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/rest"

	"github.com/component-operator/runtime/internal/judges"
	"github.com/component-operator/runtime/internal/observe"
	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/status"
)

// endless is an API server that never comes to an end of its ConfigMaps.
type endless struct {
	// pages says that the server knows no watches that begin with what there is, but sends ever more pages of a list.
	pages bool
	// listed says that the first list is complete, and only the events after it have no end.
	listed bool
	// content says that objects are watched with their content.
	content bool
	// padding makes names longer.
	padding string

	// sent counts objects, and begun the lists that have begun.
	sent, begun atomic.Int64
}

func (s *endless) object(about string) string {
	const form = `{%[3]s, "metadata": {"name": "a%[1]d%[2]s", "namespace": "n", "uid": "%[1]d", "resourceVersion": "%[1]d", "labels": {"x/owner-id": "o"}}}`
	return fmt.Sprintf(form, s.sent.Add(1), s.padding, about)
}

func (s *endless) ServeHTTP(writer http.ResponseWriter, request *http.Request) {
	writer.Header().Set("Content-Type", "application/json")
	query := request.URL.Query()
	if watch := query.Get("watch") != ""; watch != s.pages && query.Get("continue") == "" {
		s.begun.Add(1)
	}
	about, list := `"apiVersion": "v1", "kind": "ConfigMap"`, `"apiVersion": "v1", "kind": "ConfigMapList"`
	if strings.Contains(request.Header.Get("Accept"), "as=PartialObjectMetadata") {
		about, list = `"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata"`, `"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadataList"`
	}
	switch {
	case query.Get("watch") == "":
		items := make([]string, 100)
		for i := range items {
			items[i] = s.object(about)
		}
		fmt.Fprintf(writer, `{%s, "metadata": {"resourceVersion": "1", "continue": "more"}, "items": [%s]}`, list, strings.Join(items, ","))
	case s.pages:
		writer.WriteHeader(http.StatusUnprocessableEntity)
		fmt.Fprint(writer, `{"apiVersion": "v1", "kind": "Status", "status": "Failure", "reason": "Invalid", "code": 422}`)
	default:
		if s.listed {
			fmt.Fprintf(writer, `{"type": "BOOKMARK", "object": {%s, "metadata": {"resourceVersion": "1", "annotations": {"k8s.io/initial-events-end": "true"}}}}`+"\n", about)
		}
		for request.Context().Err() == nil {
			fmt.Fprintf(writer, `{"type": "ADDED", "object": %s}`+"\n", s.object(about))
		}
	}
}

// TestEndlessObjects has a server send objects without end. What is kept of them is limited, and the kind is read one
// by one.
func TestEndlessObjects(t *testing.T) {
	t.Parallel()
	const limit = 1 << 20
	for reason, server := range map[string]*endless{
		"pages of a list":                {pages: true},
		"pages with long names":          {pages: true, padding: strings.Repeat("x", 10_000)},
		"a list by events":               {},
		"events after a list of content": {listed: true, content: true},
	} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			var logged atomic.Value
			cache := newDistrustful(t, server, limit, func(text string) { logged.Store(text) })
			if err := cache.Watch(t.Context(), "o", []observe.Need{{Kind: configMaps, Namespaces: []string{"n"}, Content: server.content}}); err != nil {
				t.Fatal(err)
			}
			testenv.Eventually(t, func() (bool, string) {
				text, _ := logged.Load().(string)
				return strings.Contains(text, "read one by one (the cluster has too many objects)"), "logged: " + text
			})
			if _, view := cache.Get(configMaps, "n", "a1"); view != observe.Unseen {
				t.Errorf("got view %v", view)
			}
			if unwatched := cache.Unwatched(); len(unwatched) != 1 {
				t.Errorf("got unwatched kinds %v", unwatched)
			}
			// What the network has taken on its way is less than the limit.
			if sent := server.sent.Load() * int64(600+len(server.padding)); sent > 20*limit {
				t.Errorf("the server could send %d objects", server.sent.Load())
			}
		})
	}
}

// TestEndlessNames has a server send objects without end to an owner that reads one of them.
func TestEndlessNames(t *testing.T) {
	t.Parallel()
	for reason, server := range map[string]*endless{"pages of a list": {pages: true}, "a list by events": {}} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			cache := newDistrustful(t, server, 1<<20, func(string) {})
			if err := cache.WatchNames(t.Context(), "o", []observe.Name{{GroupVersionKind: configMaps, Namespace: "n", Name: "b"}}); err != nil {
				t.Fatal(err)
			}
			if _, view := cache.Version(observe.Name{GroupVersionKind: configMaps, Namespace: "n", Name: "b"}); view != observe.Unseen {
				t.Errorf("got view %v", view)
			}
			// The first list comes to an end, therefore there is another one after a pause.
			testenv.Eventually(t, func() (bool, string) {
				return server.begun.Load() > 1, fmt.Sprint(server.sent.Load(), " objects in one list")
			})
		})
	}
}

// newDistrustful returns a cache that watches a hostile server.
func newDistrustful(t *testing.T, server http.Handler, limit int64, log func(text string)) *observe.Cache {
	t.Helper()
	listener := httptest.NewServer(server)
	t.Cleanup(listener.Close)
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(configMaps, meta.RESTScopeNamespace)
	config := &rest.Config{Host: listener.URL}
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	cache, err := observe.New(observe.Options{
		Reader: &observe.Reader{OwnerLabel: "x/owner-id", Manager: us, Judges: judges.New("x", status.NewAnalyzer("x", status.Options{}))},
		Config: config, HTTPClient: httpClient, Mapper: mapper, MaxBytes: limit, Notify: func(string) {},
		Log: funcr.New(func(_, text string) { log(text) }, funcr.Options{}),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cache.Close)
	return cache
}
