// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package clients_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/component-operator/runtime/internal/clients"
)

var someObject = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "x", UID: "1"}}

func posted(s *server) (found []*http.Request) {
	for _, request := range s.seen() {
		if request.Method == http.MethodPost {
			found = append(found, request)
		}
	}
	return found
}

func TestEventsGoToTheClusterOfTheConnection(t *testing.T) {
	t.Parallel()
	local, remote := newServer(t), newServer(t)
	factory := newFactory(t, clients.Options{Config: local.config()})

	get(t, factory, clients.Key{User: "jane"}).EventRecorder().Event(someObject, "Normal", "A", "a")
	connection := get(t, factory, clients.Key{KubeConfig: remote.kubeConfig("{token: t}")})
	connection.EventRecorder().Eventf(someObject, "Normal", "A", "%d", 1)
	connection.EventRecorder().AnnotatedEventf(someObject, map[string]string{"k": "v"}, "Normal", "B", "%d", 2)

	for deadline := time.Now().Add(time.Minute); len(posted(local)) < 1 || len(posted(remote)) < 2; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("local %d, remote %d events", len(posted(local)), len(posted(remote)))
		}
	}
	request := posted(local)[0]
	if request.URL.Path != "/api/v1/namespaces/ns/events" || request.Header.Get("Impersonate-User") != "" {
		t.Errorf("event went to %s as %q", request.URL.Path, request.Header.Get("Impersonate-User"))
	}

	factory.Close()
	connection.EventRecorder().Event(someObject, "Normal", "C", "after the end")
}

func TestWarnings(t *testing.T) {
	t.Parallel()
	local := newServer(t)
	var handled warnings
	config := local.config()
	config.WarningHandlerWithContext = &handled
	factory := newFactory(t, clients.Options{Config: config})
	var collector clients.Collector
	collected := clients.WithWarnings(t.Context(), &collector)
	client := get(t, factory, clients.Key{User: "jane"}).DiscoveryClient().RESTClient()
	for _, text := range []string{"b", "c", "a", "b"} {
		if err := client.Get().AbsPath("/x").Param("warn", text).Do(collected).Error(); err != nil {
			t.Fatal(err)
		}
	}
	if err := client.Get().AbsPath("/x").Param("warn", "to all").Do(t.Context()).Error(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a", "b", "c"}, collector.Warnings()); diff != "" {
		t.Errorf("unexpected collection (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(warnings{"to all"}, handled); diff != "" {
		t.Errorf("unexpected remainder (-want +got):\n%s", diff)
	}
}
