// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package observe_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/component-operator/runtime/internal/observe"
)

// server answers to all that the test asks, and records the requests.
type server struct {
	mu       sync.Mutex
	requests []string
}

func (s *server) ServeHTTP(response http.ResponseWriter, request *http.Request) {
	s.mu.Lock()
	s.requests = append(s.requests, request.Method+" "+request.URL.Path+" as "+request.UserAgent()+", accepting "+request.Header.Get("Accept"))
	s.mu.Unlock()
	response.Header().Set("Content-Type", "application/json")
	const object = `{"apiVersion":"x.io/v1","kind":"Status","metadata":{"name":"a"}}`
	switch {
	case strings.HasSuffix(request.URL.Path, "/missing"):
		response.WriteHeader(http.StatusNotFound)
		_, _ = fmt.Fprint(response, `{"apiVersion":"v1","kind":"Status","status":"Failure","reason":"NotFound","code":404}`)
	case request.URL.Query().Has("watch"):
		_, _ = fmt.Fprint(response, `{"type":"ADDED","object":`+object+"}\n")
	default:
		_, _ = fmt.Fprint(response, `{"apiVersion":"x.io/v1","kind":"StatusList","metadata":{"resourceVersion":"5"},"items":[`+object+`]}`)
	}
}

// The standard dynamic client takes each object of a kind Status for an error.
func TestCustomResourcesOfKindStatus(t *testing.T) {
	recording := &server{}
	running := httptest.NewServer(recording)
	defer running.Close()
	config := &rest.Config{Host: running.URL, UserAgent: "test"}
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	client, err := observe.NewDynamicClient(config, httpClient)
	if err != nil {
		t.Fatal(err)
	}
	resource := client.Resource(schema.GroupVersionResource{Group: "x.io", Version: "v1", Resource: "statuses"}).Namespace("default")

	wanted := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "x.io/v1", "kind": "Status", "metadata": map[string]any{"name": "a"}}}
	list, err := resource.List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]unstructured.Unstructured{*wanted}, list.Items); diff != "" || list.GetResourceVersion() != "5" {
		t.Errorf("the list is %v", list)
	}
	watch, err := resource.Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Stop()
	event := <-watch.ResultChan()
	if diff := cmp.Diff(wanted, event.Object); diff != "" || event.Type != "ADDED" {
		t.Errorf("the event is %v: %s", event, diff)
	}
	if _, err := resource.Get(t.Context(), "missing", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the error is %v", err)
	}
	const path, end = "GET /apis/x.io/v1/namespaces/default/statuses", " as test, accepting application/json"
	if diff := cmp.Diff([]string{path + end, path + end, path + "/missing" + end}, recording.requests); diff != "" {
		t.Error(diff)
	}
}

func TestConfigurationsThatCannotBeUsed(t *testing.T) {
	if _, err := observe.NewDynamicClient(&rest.Config{Host: "://"}, http.DefaultClient); err == nil || !strings.Contains(err.Error(), "objects of any kind") {
		t.Errorf("the error is %v", err)
	}
}
