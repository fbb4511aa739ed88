// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/manifests"
)

// replica is a further replica of the operator, with requests of its own.
func (r *rig) replica() *rig {
	r.tb.Helper()
	other := *r
	other.config, other.requests = testenv.CountingConfig(r.tb)
	return &other
}

// fleet is an operator with several replicas. Each component has three ConfigMaps, whose content is a number.
type fleet struct {
	*rig
	names []string
	// inlineLimit is the option of all replicas.
	inlineLimit int
	replicas    []*replica
}

// replica is one of them, with a transport of its own.
type replica struct {
	*rig
	identity   string
	reconciler *Reconciler[*Widget]
	stop       func()

	mu sync.Mutex
	// intercept is called before a request is sent.
	intercept func(*http.Request) error
	writes    []write
}

// write is a request that has written a ConfigMap.
type write struct {
	name, content string
	status        int
}

const fleetShards = 12

func newFleet(t *testing.T, components int) *fleet {
	t.Helper()
	f := &fleet{rig: newRig(t)}
	for i := range components {
		f.names = append(f.names, fmt.Sprintf("component-%d", i))
	}
	return f
}

// dependentsOf are the names of the ConfigMaps of a component.
func dependentsOf(name string) []string {
	return []string{name + "-a", name + "-b", name + "-c"}
}

func (f *fleet) content(name string, number int) string {
	var documents []string
	for _, dependent := range dependentsOf(name) {
		documents = append(documents, fmt.Sprintf(`{apiVersion: v1, kind: ConfigMap, metadata: {name: %s}, data: {number: "%d"}}`, dependent, number))
	}
	return strings.Join(documents, "\n---\n")
}

// declare gives all components the number as content.
func (f *fleet) declare(number int) {
	f.tb.Helper()
	for _, name := range f.names {
		widget := f.widget(f.content(name, number))
		widget.Name = name
		if number == 1 {
			f.create(widget)
			continue
		}
		patch, err := json.Marshal(map[string]any{"spec": map[string]any{"objects": widget.Spec.Objects}})
		if err != nil {
			f.tb.Fatal(err)
		}
		if err := f.client.Patch(f.tb.Context(), widget, client.RawPatch(types.MergePatchType, patch)); err != nil {
			f.tb.Fatal(err)
		}
	}
}

// awaitContent waits until all dependents have the number as content, and all components are ready.
func (f *fleet) awaitContent(number int) {
	f.tb.Helper()
	testenv.Eventually(f.tb, func() (bool, string) {
		list := &corev1.ConfigMapList{}
		if err := f.client.List(f.tb.Context(), list, client.InNamespace(f.namespace)); err != nil {
			return false, err.Error()
		}
		found := map[string]string{}
		for _, item := range list.Items {
			found[item.Name] = item.Data["number"]
		}
		for _, name := range f.names {
			for _, dependent := range dependentsOf(name) {
				if found[dependent] != fmt.Sprint(number) {
					return false, fmt.Sprintf("want %s to have content %d, it has %q", dependent, number, found[dependent])
				}
			}
		}
		return true, ""
	})
	for _, name := range f.names {
		widget := f.widget("")
		widget.Name = name
		awaitReady(f.rig, widget)
	}
}

// join starts another replica.
func (f *fleet) join(identity string, generator manifests.GeneratorFunc) *replica {
	f.tb.Helper()
	r := &replica{rig: f.replica(), identity: identity}
	r.config.UserAgent = identity
	r.config.Wrap(func(next http.RoundTripper) http.RoundTripper { return &wire{replica: r, next: next} })
	r.reconciler = NewReconciler[*Widget](f.name, generator, ReconcilerOptions{inlineLimit: f.inlineLimit, Sharding: &Sharding{
		Shards: fleetShards, Namespace: f.namespace, Identity: identity,
		LeaseDuration: 4 * time.Second, RenewDeadline: 3 * time.Second, RetryPeriod: 500 * time.Millisecond,
	}})
	r.stop = r.start(r.reconciler)
	f.replicas = append(f.replicas, r)
	return r
}

// awaitShares waits until all components are remembered, each by one of these replicas, with shares that are alike.
func (f *fleet) awaitShares(living ...*replica) {
	f.tb.Helper()
	testenv.Eventually(f.tb, func() (bool, string) {
		owners := map[string][]string{}
		var shards []int
		for _, r := range living {
			held := 0
			for shard := range fleetShards {
				if r.reconciler.worker.shards.Holds(shard) {
					held++
				}
			}
			shards = append(shards, held)
			for key := range r.reconciler.worker.memories.all() {
				owners[key.Name] = append(owners[key.Name], r.identity)
			}
		}
		for _, name := range f.names {
			if len(owners[name]) != 1 {
				return false, fmt.Sprintf("want %s to be worked on by one replica, got %v (shards: %v)", name, owners[name], shards)
			}
		}
		return slices.Max(shards)-slices.Min(shards) <= 1, fmt.Sprintf("shares: %v", shards)
	})
}

// wire is the transport of a replica.
type wire struct {
	replica *replica
	next    http.RoundTripper
}

func (w *wire) RoundTrip(request *http.Request) (*http.Response, error) {
	w.replica.mu.Lock()
	intercept := w.replica.intercept
	w.replica.mu.Unlock()
	name, content := writtenContent(request)
	if intercept != nil {
		if err := intercept(request); err != nil {
			return nil, err
		}
		if name != "" {
			// What is stopped on its way is not called back.
			request = request.WithContext(context.WithoutCancel(request.Context()))
		}
	}
	response, err := w.next.RoundTrip(request)
	if name != "" && err == nil {
		w.replica.mu.Lock()
		defer w.replica.mu.Unlock()
		w.replica.writes = append(w.replica.writes, write{name: name, content: content, status: response.StatusCode})
	}
	return response, err
}

// writtenContent returns name and content of the ConfigMap that a request writes; an empty name if it does not.
func writtenContent(request *http.Request) (name, content string) {
	if request.Method != http.MethodPatch || !strings.Contains(request.URL.Path, "/configmaps/") || request.Body == nil {
		return "", ""
	}
	raw, err := io.ReadAll(request.Body)
	if err != nil {
		return "", ""
	}
	request.Body = io.NopCloser(bytes.NewReader(raw))
	var object corev1.ConfigMap
	if json.Unmarshal(raw, &object) != nil {
		return "", ""
	}
	return object.Name, object.Data["number"]
}

func (r *replica) set(intercept func(*http.Request) error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.intercept = intercept
}

var errCut = errors.New("cut off")

// cut lets no request of the replica pass.
func (r *replica) cut() {
	r.set(func(*http.Request) error { return errCut })
}

// pause lets only requests about leases fail, such that the replica works on without its share.
func (r *replica) pause() {
	r.set(failLeases)
}

func failLeases(request *http.Request) error {
	if strings.Contains(request.URL.Path, "/leases") {
		return errCut
	}
	return nil
}

// accepted counts the writes that the server has accepted, by name and content.
func (f *fleet) accepted() map[write]int {
	counts := map[write]int{}
	for _, r := range f.replicas {
		for written, count := range r.accepted() {
			counts[written] += count
		}
	}
	return counts
}

func (r *replica) accepted() map[write]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	counts := map[write]int{}
	for _, w := range r.writes {
		if w.status < http.StatusMultipleChoices {
			counts[write{name: w.name, content: w.content}]++
		}
	}
	return counts
}
