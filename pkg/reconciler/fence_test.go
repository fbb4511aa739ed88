// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/reconciler"
)

// fence lets a number of writes through.
func fence(writes int64) func() error {
	var left atomic.Int64
	left.Store(writes)
	return func() error {
		if left.Add(-1) < 0 {
			return errors.New("the lease has expired")
		}
		return nil
	}
}

func expectFenced(t *testing.T, err error) {
	t.Helper()
	var fenced *reconciler.FencedError
	if !errors.As(err, &fenced) || strings.Count(err.Error(), "the lease has expired") != 1 {
		t.Errorf("expected an error that names the reason once, got %v", err)
	}
}

func TestFence(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.owner.Fence = fence(7)
	_, err := w.apply(configMaps(20, 1))
	expectFenced(t, err)
	if writes := w.writes(); len(writes) != 7 {
		t.Errorf("expected the writes that were let through and no more, got %v", writes)
	}
	w.owner.Fence = nil
	w.mustApply(configMaps(20, 1))

	w.owner.Fence = fence(0)
	for reason, meddle := range map[string]func(){
		"the manifest of one changed": func() {
			_, err = w.apply(strings.Replace(configMaps(20, 1), `data: {value: "7"}`, `data: {value: "changed"}`, 1))
		},
		"one is not wanted any more": func() { _, err = w.apply(configMaps(19, 1)) },
		"all are to be deleted":      func() { _, err = w.delete() },
	} {
		w.requests.Reset()
		meddle()
		t.Log(reason)
		expectFenced(t, err)
		if writes := w.writes(); len(writes) != 0 {
			t.Errorf("%s: expected no write, got %v", reason, writes)
		}
	}
	w.owner.Fence = nil
	w.mustDelete()
}

// TestReasonOfAFenceSaysNothingAboutDependents has fences fail with an error of the server about a lease.
func TestReasonOfAFenceSaysNothingAboutDependents(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.mustApply(configMaps(2, 1) + `
---
apiVersion: v1
kind: Secret
metadata: {name: kept, annotations: {PREFIX/delete-policy: orphan}}
`)
	lease := schema.GroupResource{Group: "coordination.k8s.io", Resource: "leases"}
	for _, reason := range []error{
		apierrors.NewNotFound(lease, "lease"),
		apierrors.NewConflict(lease, "lease", errors.New("another client was faster")),
		apierrors.NewTooManyRequestsError("later"),
	} {
		w.owner.Fence = func() error { return reason }
		result, err := w.delete()
		var fenced *reconciler.FencedError
		if !errors.As(err, &fenced) || !errors.Is(err, reason) || len(result.Inventory) != 3 {
			t.Errorf("%s: expected the call to end with it, and nothing to be forgotten; got %v and %v", reason, err, describeItems(result.Inventory))
		}
	}
	w.owner.Fence = nil
	w.mustDelete()
}

// throttled is a transport that serves only some requests at the same time, and rejects all others as the server's priority and
// fairness does.
type throttled struct {
	next     http.RoundTripper
	seats    int64
	active   atomic.Int64
	rejected atomic.Int64
	most     atomic.Int64
}

// RoundTrip sends or rejects a request.
func (t *throttled) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Method != http.MethodPatch {
		return t.next.RoundTrip(request)
	}
	active := t.active.Add(1)
	defer t.active.Add(-1)
	for most := t.most.Load(); active > most && !t.most.CompareAndSwap(most, active); most = t.most.Load() {
		continue
	}
	if active <= t.seats {
		return t.next.RoundTrip(request)
	}
	t.rejected.Add(1)
	_ = request.Body.Close()
	return &http.Response{
		Status: "429 Too Many Requests", StatusCode: http.StatusTooManyRequests, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Retry-After": {"1"}}, Body: http.NoBody, Request: request,
	}, nil
}

func TestRejectedRequestsAreSentLater(t *testing.T) {
	t.Parallel()
	const count, seats = 150, 3
	server := &throttled{seats: seats}
	config := rest.CopyConfig(testenv.Config(t))
	config.QPS = -1
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		server.next = next
		return server
	})
	w := newWorld(t)
	clnt := newClusterClient(t, config)
	engine, err := reconciler.New(prefix, clnt, reconciler.Options{})
	if err != nil {
		t.Fatal(err)
	}
	w.engine = engine
	w.mustApply(configMaps(count, 1))
	rejected, most := server.rejected.Load(), server.most.Load()
	if rejected == 0 || most > 16 {
		t.Fatalf("expected rejections, and at most 16 concurrent requests; got %d and %d", rejected, most)
	}
	if rejected > count {
		t.Errorf("expected the number of requests to follow what the server takes, got %d rejections for %d writes", rejected, count)
	}
}

func TestDeletionAsksWhereTheServerSaysNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.mustApply(configMaps(3, 1) + `
---
apiVersion: v1
kind: ConfigMap
metadata: {name: held, finalizers: [example.com/hold]}
`)
	result, err := w.delete()
	if err != nil || result.Done || !strings.Contains(notices(result.Waits), "held") {
		t.Fatalf("expected to wait for the held object, got %v, %v", notices(result.Waits), err)
	}
	w.patch(w.configMap("held"), `{"metadata": {"finalizers": null}}`)
	w.mustDelete()
}
