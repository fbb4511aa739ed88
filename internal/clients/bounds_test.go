// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package clients_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/component-operator/runtime/internal/clients"
	"github.com/component-operator/runtime/internal/testenv"
)

// impatient is for servers that do not answer.
var impatient = clients.Patience{Answer: 200 * time.Millisecond, Whole: 400 * time.Millisecond}

// listen accepts connections, and hands each of them to a function.
func listen(t *testing.T, serve func(connection net.Conn)) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { _ = connection.Close() })
			serve(connection)
		}
	}()
	return "http://" + listener.Addr().String()
}

// silent never answers.
func silent(t *testing.T) string {
	t.Helper()
	return listen(t, func(net.Conn) {})
}

// greeting answers with a text that may not be HTTP.
func greeting(t *testing.T, text string) string {
	t.Helper()
	return listen(t, func(connection net.Conn) {
		// Clients do not look at what is sent before they have asked.
		_, _ = connection.Read(make([]byte, 1024))
		_, _ = io.WriteString(connection, text)
		_ = connection.Close()
	})
}

// handled returns the address of a server.
func handled(t *testing.T, handler http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	t.Cleanup(server.CloseClientConnections)
	return server.URL
}

func remote(t *testing.T, url string, patience clients.Patience) *clients.Connection {
	t.Helper()
	return get(t, newFactory(t, clients.Options{Patience: patience}), clients.Key{KubeConfig: kubeConfig(fmt.Sprintf("{server: %q}", url), "{}")})
}

// trickle sends something now and then until the client goes.
func trickle(content string) http.HandlerFunc {
	return func(writer http.ResponseWriter, request *http.Request) {
		writer.Header().Set("Content-Type", "application/json")
		for request.Context().Err() == nil {
			_, _ = io.WriteString(writer, content)
			_ = http.NewResponseController(writer).Flush()
			select {
			case <-request.Context().Done():
			case <-time.After(20 * time.Millisecond):
			}
		}
	}
}

// flood sends the head, and then the same without end.
func flood(head, content string) http.HandlerFunc {
	block := strings.Repeat(content, 1<<16)
	return func(writer http.ResponseWriter, _ *http.Request) {
		writer.Header().Set("Content-Type", "application/json")
		_, err := io.WriteString(writer, head)
		for err == nil {
			_, err = io.WriteString(writer, block)
		}
	}
}

var (
	asNoAnswer = func(err error) bool { return errors.As(err, new(*clients.NoAnswerError)) }
	asTooLarge = func(err error) bool { return err != nil && strings.Contains(err.Error(), "is larger than") }
	asForeign  = func(err error) bool {
		return err != nil && strings.Contains(err.Error(), "is not from a Kubernetes API server")
	}
)

// answer returns the address of a server that always answers the same.
func answer(t *testing.T, code int, contentType, content string) string {
	t.Helper()
	return handled(t, func(writer http.ResponseWriter, _ *http.Request) {
		writer.Header().Set("Content-Type", contentType)
		writer.Header().Set("Location", "/secret")
		writer.WriteHeader(code)
		_, _ = io.WriteString(writer, content)
	})
}

type call func(ctx context.Context, connection *clients.Connection) error

func readVersion(_ context.Context, connection *clients.Connection) error {
	_, err := connection.DiscoveryClient().ServerVersion()
	return err
}

func discover(_ context.Context, connection *clients.Connection) error {
	_, err := connection.RESTMapper().RESTMapping(schema.GroupKind{Kind: "ConfigMap"}, "v1")
	return err
}

// resource returns one that needs no discovery.
func resource(t *testing.T, connection *clients.Connection) dynamic.ResourceInterface {
	t.Helper()
	clnt, err := dynamic.NewForConfigAndClient(dynamic.ConfigFor(connection.Config()), connection.HttpClient())
	if err != nil {
		t.Fatal(err)
	}
	return clnt.Resource(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}).Namespace("default")
}

func TestHostileServers(t *testing.T) {
	t.Parallel()
	write := func(ctx context.Context, connection *clients.Connection) error {
		return resource(t, connection).Delete(ctx, "name", metav1.DeleteOptions{})
	}
	watch := func(ctx context.Context, connection *clients.Connection) error {
		_, err := resource(t, connection).Watch(ctx, metav1.ListOptions{})
		return err
	}
	firstEvent := func(ctx context.Context, connection *clients.Connection) error {
		events, err := resource(t, connection).Watch(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		defer events.Stop()
		event := <-events.ResultChan()
		return apierrors.FromObject(event.Object)
	}
	for reason, tt := range map[string]struct {
		patience clients.Patience
		server   string
		call     call
		want     func(error) bool
	}{
		"a server that never answers a read":      {impatient, silent(t), readVersion, asNoAnswer},
		"a server that never answers a write":     {impatient, silent(t), write, asNoAnswer},
		"a watch that never begins":               {impatient, silent(t), watch, asNoAnswer},
		"an answer that goes on and on":           {impatient, handled(t, trickle(" ")), readVersion, asNoAnswer},
		"an answer without end":                   {clients.Patience{}, handled(t, flood(`{"a": "`, "x")), readVersion, asTooLarge},
		"discovery without end":                   {clients.Patience{}, handled(t, flood(`{"groups": [`, "{},")), discover, asTooLarge},
		"an event without end":                    {clients.Patience{}, handled(t, flood(`{"type": "`, "x")), firstEvent, asTooLarge},
		"something that is not HTTP":              {clients.Patience{}, greeting(t, "SSH-2.0-secret\r\n"), readVersion, asForeign},
		"an answer that leads elsewhere":          {clients.Patience{}, answer(t, http.StatusFound, "text/html", "secret"), readVersion, asForeign},
		"a page that is forbidden":                {clients.Patience{}, answer(t, http.StatusForbidden, "text/html", "secret"), write, apierrors.IsForbidden},
		"an error in JSON that is not a Status":   {clients.Patience{}, answer(t, http.StatusUnprocessableEntity, "application/json", `{"kind": "secret", "message": "secret"}`), write, apierrors.IsInvalid},
		"a type that an API server does not know": {clients.Patience{}, answer(t, http.StatusNotFound, "text/plain", "404 page not found\n"), write, apierrors.IsNotFound},
	} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			connection := remote(t, tt.server, tt.patience)
			err := testenv.Within(t, func() error { return tt.call(t.Context(), connection) })
			if !tt.want(err) {
				t.Errorf("got error %T: %v", err, err)
			}
			if err != nil && strings.Contains(err.Error(), "secret") {
				t.Errorf("the error quotes the answer: %v", err)
			}
		})
	}
}

func TestAnswersOfAPIServersAreKept(t *testing.T) {
	t.Parallel()
	const status = `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 403, "reason": "Forbidden", "message": "the reason"}`
	connection := remote(t, answer(t, http.StatusForbidden, "application/json", status), clients.Patience{})
	err := resource(t, connection).Delete(t.Context(), "name", metav1.DeleteOptions{})
	if err == nil || err.Error() != "the reason" {
		t.Errorf("expected the message of the status, got %v", err)
	}
	// A page of the local cluster's own proxy is worth knowing, and the operator's author has chosen that cluster.
	local := newFactory(t, clients.Options{Config: &rest.Config{Host: answer(t, http.StatusBadGateway, "text/plain", "the page")}}).Local()
	if err := readVersion(t.Context(), local); err == nil || !strings.Contains(err.Error(), "the page") {
		t.Errorf("expected the text of the answer, got %v", err)
	}
}

// TestWatchesLast has a watch be silent for longer than any other answer may take.
func TestWatchesLast(t *testing.T) {
	t.Parallel()
	const limit = time.Second
	connection := remote(t, handled(t, func(writer http.ResponseWriter, request *http.Request) {
		_ = http.NewResponseController(writer).Flush()
		select {
		case <-time.After(limit + time.Second):
			_, _ = io.WriteString(writer, `{"type": "ADDED", "object": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "late"}}}`+"\n")
		case <-request.Context().Done():
		}
	}), clients.Patience{Answer: limit, Whole: limit})
	events, err := resource(t, connection).Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if event := <-events.ResultChan(); event.Type != apiwatch.Added {
		t.Errorf("expected the late event, got %v", event)
	}
}

// TestServersCannotDelayClientsForLong has servers that want each request to be repeated, which clients do by
// themselves.
func TestServersCannotDelayClientsForLong(t *testing.T) {
	t.Parallel()
	later := func(writer http.ResponseWriter) {
		writer.Header().Set("Retry-After", "3600")
		http.Error(writer, "Too many requests, please try again later.", http.StatusTooManyRequests)
	}
	closing := func(writer http.ResponseWriter) {
		connection, _, _ := http.NewResponseController(writer).Hijack()
		_ = connection.Close()
	}
	isClosed := func(err error) bool {
		return err != nil && strings.Contains(err.Error(), "closed the connection without an answer")
	}
	for _, test := range []struct {
		reason   string
		server   func(writer http.ResponseWriter)
		limited  bool
		is       func(error) bool
		requests int32
	}{
		{"a request with a deadline is repeated, soon", later, true, apierrors.IsTooManyRequests, 2},
		{"a request that nothing ends is not repeated", later, false, apierrors.IsTooManyRequests, 1},
		{"nor because the server closes connections", closing, false, isClosed, 1},
	} {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			var asked atomic.Int32
			connection := remote(t, handled(t, func(writer http.ResponseWriter, _ *http.Request) {
				if asked.Add(1) == 2 {
					http.Error(writer, "Too many requests, please try again later.", http.StatusTooManyRequests)
					return
				}
				test.server(writer)
			}), clients.Patience{})
			ctx := t.Context()
			if test.limited {
				var cancel func()
				ctx, cancel = context.WithTimeout(ctx, time.Hour)
				defer cancel()
			}
			if _, err := resource(t, connection).Get(ctx, "name", metav1.GetOptions{}); !test.is(err) || asked.Load() != test.requests {
				t.Errorf("expected %d requests, got %d and error %v", test.requests, asked.Load(), err)
			}
		})
	}
}

// TestLongestRequest has a slow request, and then a quick one.
func TestLongestRequest(t *testing.T) {
	t.Parallel()
	slow := func(writer http.ResponseWriter, request *http.Request) {
		if strings.HasSuffix(request.URL.Path, "/slow") {
			time.Sleep(50 * time.Millisecond)
		}
		http.Error(writer, "404 page not found", http.StatusNotFound)
	}
	connection := remote(t, handled(t, slow), clients.Patience{})
	ctx, longest := clients.WithLongest(t.Context())
	for _, name := range []string{"slow", "quick"} {
		if _, err := resource(t, connection).Get(ctx, name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			t.Fatal(err)
		}
	}
	if longest.Duration() < 50*time.Millisecond {
		t.Errorf("expected the duration of the slow request, got %s", longest.Duration())
	}
}

// TestServersMustNotSwitchProtocols has a server claim that the connection serves another purpose, which nothing
// bounds.
func TestServersMustNotSwitchProtocols(t *testing.T) {
	t.Parallel()
	connection := remote(t, handled(t, func(writer http.ResponseWriter, request *http.Request) {
		socket, _, err := http.NewResponseController(writer).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer func() { _ = socket.Close() }()
		_, _ = io.WriteString(socket, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n")
		// It lasts until the client goes.
		_, _ = io.Copy(io.Discard, socket)
	}), clients.Patience{})
	for name, request := range map[string]func() error{
		"a read": func() error {
			_, err := resource(t, connection).Get(t.Context(), "name", metav1.GetOptions{})
			return err
		},
		"discovery": func() error { return discover(t.Context(), connection) },
	} {
		if err := testenv.Within(t, request); !asForeign(err) {
			t.Errorf("%s: expected the answer to be refused, got %v", name, err)
		}
	}
}
