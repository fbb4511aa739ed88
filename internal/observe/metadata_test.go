// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package observe_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/observe"
	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/status"
)

// TestStatuslessKinds compares what is known of built-in kinds with what the API server serves.
func TestStatuslessKinds(t *testing.T) {
	t.Parallel()
	client, err := discovery.NewDiscoveryClientForConfig(testenv.Config(t))
	if err != nil {
		t.Fatal(err)
	}
	_, lists, err := client.ServerGroupsAndResources()
	if err != nil {
		t.Fatal(err)
	}
	analyzer := status.NewAnalyzer(us, status.Options{})
	served := map[schema.GroupKind]bool{}
	for _, list := range lists {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			t.Fatal(err)
		}
		for _, resource := range list.APIResources {
			kind := schema.GroupKind{Group: version.Group, Kind: resource.Kind}
			if !analyzer.JudgesMetadata(kind) {
				continue
			}
			served[kind] = true
			if strings.HasSuffix(resource.Name, "/status") {
				t.Errorf("%s in %s has a status", kind, list.GroupVersion)
			}
		}
	}
	if len(served) != 21 {
		t.Errorf("the API server serves %d kinds that are judged by their metadata, expected: all 21: %v", len(served), served)
	}
}

// accepted keeps what was accepted as the answer to watches.
type accepted struct {
	next http.RoundTripper

	mu    sync.Mutex
	types map[string]string
}

func (a *accepted) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.URL.Query().Has("watch") {
		a.mu.Lock()
		path := strings.Split(request.URL.Path, "/")
		a.types[path[len(path)-1]] = request.Header.Get("Accept")
		a.mu.Unlock()
	}
	return a.next.RoundTrip(request)
}

// TestObservesMetadata compares what is observed of objects by their metadata with what is read from all of them.
func TestObservesMetadata(t *testing.T) {
	t.Parallel()
	answers := &accepted{types: map[string]string{}}
	w := newWorld(t, func(config *rest.Config) {
		config.Wrap(func(next http.RoundTripper) http.RoundTripper {
			answers.next = next
			return answers
		})
	})
	kinds := map[string]schema.GroupVersionKind{
		"secrets":         {Version: "v1", Kind: "Secret"},
		"networkpolicies": {Group: "networking.k8s.io", Version: "v1", Kind: "NetworkPolicy"},
		"services":        {Version: "v1", Kind: "Service"},
	}
	var needs []observe.Need
	for _, kind := range kinds {
		needs = append(needs, need(kind, w.namespace))
	}
	w.watch("o", needs...)
	for _, test := range []struct{ reason, manifest string }{
		{"no generation", "{apiVersion: v1, kind: Secret, stringData: {password: hidden}}"},
		{"a generation", "{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, spec: {podSelector: {}}}"},
		{"a status", "{apiVersion: v1, kind: Service, spec: {ports: [{port: 80}]}}"},
		{"a hint that is never fulfilled", "{apiVersion: v1, kind: Secret, metadata: {annotations: {HINT: conditions=Usable}}}"},
		{"a hint that is invalid", "{apiVersion: v1, kind: Secret, metadata: {annotations: {HINT: nonsense}}}"},
		{"deletion", "{apiVersion: v1, kind: Secret, metadata: {finalizers: [example.com/x]}}"},
	} {
		t.Run(test.reason, func(t *testing.T) {
			hint := strings.TrimSuffix(w.label, "/owner-id") + "/status-hint"
			object := testenv.Object(t, strings.ReplaceAll(test.manifest, "HINT", hint))
			object.SetNamespace(w.namespace)
			object.SetName(strings.ReplaceAll(test.reason, " ", "-"))
			object.SetLabels(map[string]string{w.label: "o"})
			if err := w.client.Apply(w.Context(), client.ApplyConfigurationFromUnstructured(object), client.FieldOwner(us)); err != nil {
				t.Fatal(err)
			}
			if object.GetFinalizers() != nil {
				w.remove(object)
				w.Cleanup(func() {
					_ = w.client.Patch(context.WithoutCancel(w.Context()), object, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`)))
				})
				if err := w.client.Get(t.Context(), client.ObjectKeyFromObject(object), object); err != nil {
					t.Fatal(err)
				}
			}
			w.awaitObserved(object)
		})
	}
	for resource, kind := range kinds {
		metadata := strings.Contains(answers.types[resource], "as=PartialObjectMetadata")
		if expected := w.reader.Judges.JudgesMetadata(kind.GroupKind()); metadata != expected {
			t.Errorf("%s: only metadata is watched: %v, expected: %v", resource, metadata, expected)
		}
	}
}

// awaitObserved waits until what is observed of an object is what is read from it.
func (w *world) awaitObserved(object *unstructured.Unstructured) {
	w.Helper()
	testenv.Eventually(w, func() (bool, string) {
		seen, view := w.cache.Get(object.GroupVersionKind(), object.GetNamespace(), object.GetName())
		difference := cmp.Diff(w.reader.Read(object), seen)
		return view == observe.Present && difference == "", fmt.Sprintf("view %d, difference: %s", view, difference)
	})
}
