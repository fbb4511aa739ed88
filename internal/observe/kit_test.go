// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package observe_test

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/component-operator/runtime/internal/judges"
	"github.com/component-operator/runtime/internal/observe"
	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/status"
)

const us = "us"

var configMaps = schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}

// world is a cache on a real API server, with a label of its own, so that it sees nothing of other tests.
type world struct {
	testing.TB
	client    client.Client
	requests  *testenv.Requests
	cache     *observe.Cache
	reader    *observe.Reader
	label     string
	namespace string

	mu       sync.Mutex
	notified map[string]int
	logs     []string
}

func newWorld(t testing.TB, changes ...func(*rest.Config)) *world {
	t.Helper()
	return newPatientWorld(t, 0, changes...)
}

// newPatientWorld is newWorld with a cache that watches after a delay.
func newPatientWorld(t testing.TB, delay time.Duration, changes ...func(*rest.Config)) *world {
	t.Helper()
	config, requests := testenv.CountingConfig(t)
	for _, change := range changes {
		change(config)
	}
	name := testenv.UniqueName(t) + ".example.com"
	w := &world{TB: t, client: testenv.Client(t), requests: requests, label: name + "/owner-id", namespace: testenv.Namespace(t), notified: map[string]int{}}
	w.reader = &observe.Reader{OwnerLabel: w.label, Manager: us, Judges: judges.New(name, status.NewAnalyzer(name, status.Options{}))}
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	mapper, err := apiutil.NewDynamicRESTMapper(config, httpClient)
	if err != nil {
		t.Fatal(err)
	}
	w.cache, err = observe.New(observe.Options{Reader: w.reader, Config: config, HTTPClient: httpClient, Mapper: mapper, Delay: delay, Notify: w.notify, Log: w.logger()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		w.cache.Close()
		if transport, ok := httpClient.Transport.(interface{ CloseIdleConnections() }); ok {
			transport.CloseIdleConnections()
		}
	})
	return w
}

func (w *world) logger() logr.Logger {
	return funcr.New(func(_, args string) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.logs = append(w.logs, args)
	}, funcr.Options{})
}

func (w *world) logged() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.logs)
}

func (w *world) notify(owner string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.notified[owner]++
}

func (w *world) count(owner string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.notified[owner]
}

// awaitNews waits until the owner was notified more often than before.
func (w *world) awaitNews(owner string, before int) {
	w.Helper()
	testenv.Eventually(w, func() (bool, string) { return w.count(owner) > before, "owner " + owner + " was not notified" })
}

// quiet waits until an event for another owner has come through the same watch, so that all earlier ones have.
func (w *world) quiet() {
	w.Helper()
	before := w.count("sentinel")
	w.write("sentinel", "sentinel-"+time.Now().Format("150405.000000000"), "1")
	w.awaitNews("sentinel", before)
}

func (w *world) watch(owner string, needs ...observe.Need) {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.Context(), 30*time.Second)
	defer cancel()
	if err := w.cache.Watch(ctx, owner, needs); err != nil {
		w.Fatal(err)
	}
}

func need(kind schema.GroupVersionKind, namespaces ...string) observe.Need {
	return observe.Need{Kind: kind, Namespaces: namespaces}
}

// write applies a ConfigMap with our label, and returns the response.
func (w *world) write(owner, name, value string) *unstructured.Unstructured {
	w.Helper()
	object := testenv.Object(w, "{apiVersion: v1, kind: ConfigMap}")
	object.SetName(name)
	object.SetNamespace(w.namespace)
	object.SetLabels(map[string]string{w.label: owner})
	object.Object["data"] = map[string]any{"value": value}
	if err := w.client.Apply(w.Context(), client.ApplyConfigurationFromUnstructured(object), client.ForceOwnership, client.FieldOwner(us)); err != nil {
		w.Fatal(err)
	}
	return object
}

// written applies, and records the response as the engine does.
func (w *world) written(owner, name, value string) observe.Observation {
	w.Helper()
	observation := w.reader.Read(w.write(owner, name, value))
	w.cache.Record(configMaps, w.namespace, name, observation)
	return observation
}

func (w *world) patch(object client.Object, body string) {
	w.Helper()
	if err := w.client.Patch(w.Context(), object, client.RawPatch(types.MergePatchType, []byte(body)), client.FieldOwner("them")); err != nil {
		w.Fatal(err)
	}
}

func (w *world) remove(object client.Object) {
	w.Helper()
	if err := w.client.Delete(w.Context(), object); err != nil {
		w.Fatal(err)
	}
}

func (w *world) get(name string) (observe.Observation, observe.View) {
	return w.cache.Get(configMaps, w.namespace, name)
}

// watches counts the watches, and lists that are no watches, of a resource.
func (w *world) watches(resource string) (watches, lists int) {
	for _, request := range w.requests.All() {
		switch {
		case request.Resource != resource || request.Method != http.MethodGet:
		case request.IsWatch():
			watches++
		case request.Name == "":
			lists++
		}
	}
	return watches, lists
}
