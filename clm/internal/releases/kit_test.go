// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package releases

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/clients"
	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/cluster"
	"github.com/component-operator/runtime/pkg/reconciler"
)

// world is a namespace with a store.
type world struct {
	*testing.T
	namespace string
	client    cluster.Client
	requests  *testenv.Requests
	store     *Store
}

func newWorld(t *testing.T) *world {
	t.Helper()
	config, requests := testenv.CountingConfig(t)
	clnt := newClient(t, config)
	w := &world{T: t, namespace: testenv.Namespace(t), client: clnt, requests: requests, store: smallStore(clnt)}
	t.Cleanup(func() { w.letGo(w.namespace) })
	return w
}

// letGo takes the finalizers off all records, so that the namespace can go.
func (w *world) letGo(namespace string) {
	w.Helper()
	ctx := context.WithoutCancel(w.Context())
	for _, kind := range []string{"Secret", "ConfigMap"} {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(kind + "List"))
		w.must(w.client.List(ctx, list, client.InNamespace(namespace)))
		for i := range list.Items {
			object := &list.Items[i]
			object.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(kind))
			if len(object.Finalizers) > 0 {
				w.must(client.IgnoreNotFound(w.client.Patch(ctx, object, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`)))))
			}
		}
	}
}

func newClient(t *testing.T, config *rest.Config) cluster.Client {
	t.Helper()
	factory, err := clients.New(clients.Options{Name: ReconcilerName, Config: config})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(factory.Close)
	return factory.Local()
}

// smallStore returns a store that has chunks from about 20 items on.
func smallStore(clnt cluster.Client) *Store {
	return &Store{client: clnt, now: time.Now, packedLimit: 700, chunkSize: 4000}
}

// items makes an inventory whose digests are of a given state.
func items(count int, state string) []*reconciler.InventoryItem {
	list := make([]*reconciler.InventoryItem, count)
	for i := range list {
		list[i] = &reconciler.InventoryItem{
			TypeVersionInfo: reconciler.TypeVersionInfo{Version: "v1", Kind: "ConfigMap"},
			NameInfo:        reconciler.NameInfo{Namespace: "default", Name: fmt.Sprintf("web-%06d", i)},
			Digest:          fmt.Sprintf("%s-%08x", state, uint32(i*2654435761)), //nolint:gosec // it is to overflow
			Phase:           reconciler.PhaseReady,
		}
	}
	return list
}

// content makes a content of as many objects.
func content(count int, state string) Content {
	result := Content{Values: map[string]any{"state": state, "count": int64(count), "ratio": 0.5, "noise": noise(300), "list": []any{"a", nil}}}
	for i := range count {
		object := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": fmt.Sprintf("web-%d", count-i)},
			"data": map[string]any{"state": state, "text": strings.Repeat("x", 50), "i": fmt.Sprint(i)},
		}}
		result.Manifest = append(result.Manifest, object)
	}
	return result
}

// noise has that many characters, which can hardly be compressed.
func noise(length int) string {
	text := strings.Builder{}
	for i := uint64(1); text.Len() < length; i++ {
		_, _ = fmt.Fprintf(&text, "%016x", i*0x9e3779b97f4a7c15^i<<40)
	}
	return text.String()[:length]
}

func (w *world) newRelease(name string) *Release {
	return &Release{Namespace: w.namespace, Name: name}
}

func firstRevision() Revision {
	return Revision{
		Description: "applied", Inputs: "abc", Installed: true, Policies: reconciler.Policies{Update: reconciler.UpdatePolicySsaMerge},
		Sources: []Source{{Reference: "./chart", Kind: "chart", Name: "web", Version: "1.0.0", AppVersion: "7"}},
	}
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// create creates a release with one revision of 10 objects.
func (w *world) create(name string) *Release {
	w.Helper()
	release := w.newRelease(name)
	w.must(w.store.AddRevision(w.Context(), release, firstRevision(), content(10, "a")))
	return release
}

func (w *world) get(name string) *Release {
	w.Helper()
	release, err := w.store.Get(w.Context(), w.namespace, name)
	w.must(err)
	return release
}

// equal compares what two releases say.
func (w *world) equal(what string, want, got *Release) {
	w.Helper()
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(Release{}), cmpopts.EquateEmpty()); diff != "" {
		w.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// expectContent reads what is kept of a revision.
func (w *world) expectContent(release *Release, number int64, want Content) {
	w.Helper()
	got, err := w.store.Content(w.Context(), release, number)
	w.must(err)
	if diff := cmp.Diff(want, got); diff != "" {
		w.Errorf("content of revision %d (-want +got):\n%s", number, diff)
	}
}

// secrets are all Secrets of the namespace but those of the names.
func (w *world) secrets(except ...string) []string {
	w.Helper()
	list := &corev1.SecretList{}
	w.must(w.client.List(w.Context(), list, client.InNamespace(w.namespace)))
	ignored := map[string]bool{}
	for _, name := range except {
		ignored[name] = true
	}
	var names []string
	for _, secret := range list.Items {
		if !ignored[secret.Name] {
			names = append(names, secret.Name)
		}
	}
	return names
}

// expectNoWaste checks that there are no other chunks than those that the index names, and all of these.
func (w *world) expectNoWaste(release *Release) {
	w.Helper()
	listed, err := w.store.chunks(release.Namespace, release.Name).List(w.Context())
	w.must(err)
	if diff := cmp.Diff(sets.New(append(release.stored.index.inventoryNames(), release.stored.index.contentNames()...)...), sets.KeySet(listed)); diff != "" {
		w.Errorf("chunks (-referred to +existing):\n%s", diff)
	}
}

func (w *world) writes() int {
	return w.requests.Count(testenv.Request.IsWrite)
}

// dying returns a client that fails after the given number of writes, and how many of these are left.
func dying(t *testing.T, survived int) (cluster.Client, *atomic.Int64) {
	t.Helper()
	left := &atomic.Int64{}
	left.Store(int64(survived))
	config := testenv.Intercept(testenv.Config(t), func(request *http.Request, next http.RoundTripper) (*http.Response, error) {
		if left.Load() < 0 || request.Method != http.MethodGet && left.Add(-1) < 0 {
			return nil, errors.New("the process died")
		}
		return next.RoundTrip(request)
	})
	return newClient(t, config), left
}
