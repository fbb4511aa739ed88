// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package clients_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"

	"github.com/component-operator/runtime/internal/clients"
)

// TestManySmallValues has remote servers send answers far below the limits for bytes whose values would take hundreds
// of times as much memory.
func TestManySmallValues(t *testing.T) {
	t.Parallel()
	const head = `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "name"`
	read := func(ctx context.Context, connection *clients.Connection) error {
		_, err := resource(t, connection).Get(ctx, "name", metav1.GetOptions{})
		return err
	}
	list := func(ctx context.Context, connection *clients.Connection) error {
		_, err := resource(t, connection).List(ctx, metav1.ListOptions{})
		return err
	}
	event := func(ctx context.Context, connection *clients.Connection) error {
		events, err := resource(t, connection).Watch(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		defer events.Stop()
		return apierrors.FromObject((<-events.ResultChan()).Object)
	}
	isNone := func(err error) bool { return err == nil }
	const json, protobuf, yaml = "application/json", "application/vnd.kubernetes.protobuf", "application/yaml"
	for reason, tt := range map[string]struct {
		contentType, content string
		call                 call
		want                 func(error) bool
	}{
		"an object with 300,000 lists":            {json, head + `, "ownerReferences": [` + strings.Repeat("{},\n", 300_000) + `{}]}}`, read, asTooLarge},
		"types without end":                       {json, `{"apiVersion": "v1", "kind": "APIResourceList", "resources": [` + strings.Repeat("{},", 1_100_000) + `{}]}`, discover, asTooLarge},
		"an event with 600,000 lists":             {json, `{"type": "ADDED", "object": ` + head + `, "x": [` + strings.Repeat("[],\n", 600_000) + "[]]}}}", event, asTooLarge},
		"a YAML answer to a request for JSON":     {yaml, "a: &a [x]\nb: [*a, *a]\n", list, asForeign},
		"a protobuf answer to a request for JSON": {protobuf, "k8s\x00", list, asForeign},
		"text that looks like values":             {json, head + `}, "data": {"a": "` + strings.Repeat(`{[\",`, 1_000_000) + `"}}`, read, isNone},
	} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			connection := remote(t, answer(t, http.StatusOK, tt.contentType, tt.content), clients.Patience{})
			if err := tt.call(t.Context(), connection); !tt.want(err) {
				t.Errorf("got error %T: %v", err, err)
			}
		})
	}
}

// TestManyEvents has a watch last, although its events together have more values than one may have.
func TestManyEvents(t *testing.T) {
	t.Parallel()
	object := `{"type": "ADDED", "object": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "name"}, "x": [` + strings.Repeat("{},", 100_000) + "{}]}}\n"
	const count = 5
	connection := remote(t, handled(t, func(writer http.ResponseWriter, _ *http.Request) {
		writer.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(writer, strings.Repeat(object, count))
	}), clients.Patience{})
	events, err := resource(t, connection).Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer events.Stop()
	for i := range count {
		event := <-events.ResultChan()
		if err := apierrors.FromObject(event.Object); event.Type != "ADDED" && !errors.Is(err, io.EOF) {
			t.Fatalf("event %d: %v", i, err)
		}
	}
}

// TestRemoteClustersAnswerInJSON pins that no encoding is asked for whose weight is not known, although the client
// does.
func TestRemoteClustersAnswerInJSON(t *testing.T) {
	t.Parallel()
	accepted := make(chan string, 1)
	connection := remote(t, handled(t, func(writer http.ResponseWriter, request *http.Request) {
		accepted <- request.Header.Get("Accept")
		writer.Header()["Content-Type"] = nil // what is not said counts as JSON
		_, _ = io.WriteString(writer, `{"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadataList", "items": [{"metadata": {"name": "name"}}]}`)
	}), clients.Patience{})
	clnt, err := metadata.NewForConfigAndClient(metadata.ConfigFor(connection.Config()), connection.HttpClient())
	if err != nil {
		t.Fatal(err)
	}
	list, err := clnt.Resource(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}).List(t.Context(), metav1.ListOptions{})
	if err != nil || len(list.Items) != 1 {
		t.Errorf("got %v and error %v", list, err)
	}
	if accept := <-accepted; strings.Contains(accept, "protobuf") || !strings.Contains(accept, "application/json;as=PartialObjectMetadataList") {
		t.Errorf("asked for %s", accept)
	}
}
