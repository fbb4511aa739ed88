// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/clients"
	"github.com/component-operator/runtime/internal/testenv"
)

// silentServer returns the address of a server that accepts connections and never answers.
func silentServer(tb testing.TB) string {
	tb.Helper()
	listener, err := (&net.ListenConfig{}).Listen(tb.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = listener.Close() })
	go func() {
		// The garbage collector closes connections that nothing refers to.
		var open []net.Conn
		for {
			connection, err := listener.Accept()
			if err != nil {
				break
			}
			open = append(open, connection)
		}
		for _, connection := range open {
			_ = connection.Close()
		}
	}()
	return listener.Addr().String()
}

// leadingTo returns a kubeconfig for a server without TLS.
func leadingTo(server string) string {
	return fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: c, user: u}}],
clusters: [{name: c, cluster: {server: "http://%s"}}], users: [{name: u, user: {}}]}`, server)
}

func TestTargetsThatNeverAnswerLeaveWorkersToOthers(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	// Waiting is over so late that nothing could go on if all workers waited.
	r.start(r.reconciler(ReconcilerOptions{
		MaxConcurrentReconciles: 4,
		patience:                clients.Patience{Answer: 3 * time.Second, Whole: 4 * time.Second},
		slowVisit:               100 * time.Millisecond,
	}))
	var silent []*Widget
	for i := range 5 {
		name := fmt.Sprintf("silent-%d", i)
		r.create(r.secret(name, map[string]string{"value": leadingTo(silentServer(t))}))
		widget := r.widget(`{apiVersion: v1, kind: ConfigMap, metadata: {name: never}}`)
		widget.Name = name
		widget.Spec.KubeConfig = &KubeConfigSpec{SecretRef: SecretKeyReference{Name: name}}
		r.create(widget)
		silent = append(silent, widget)
	}
	for i := range 10 {
		widget := r.widget(fmt.Sprintf(`{apiVersion: v1, kind: ConfigMap, metadata: {name: well-%d}}`, i))
		widget.Name = fmt.Sprintf("well-%d", i)
		r.create(widget)
		awaitReady(r, widget)
	}
	for _, widget := range silent {
		secret := widget.Spec.KubeConfig.SecretRef.Name
		await(r, widget, "the reason", func() bool {
			_, _, message := widget.GetStatus().GetState()
			return strings.HasPrefix(message, "No answer from the cluster at 127.0.0.1:") &&
				strings.HasSuffix(message, " for 3s; its kubeconfig is in Secret "+r.namespace+"/"+secret)
		})
	}
	for _, widget := range silent {
		r.delete(widget)
		r.awaitGone(widget)
	}
}

// TestWritesThatAreNotAnswered has a server carry out the first write of a dependent, and never say so.
func TestWritesThatAreNotAnswered(t *testing.T) {
	t.Parallel()
	transport, err := rest.TransportFor(testenv.Config(t))
	if err != nil {
		t.Fatal(err)
	}
	var writes, swallowed atomic.Int32
	forward := &httputil.ReverseProxy{Transport: transport, FlushInterval: -1, Rewrite: func(request *httputil.ProxyRequest) { request.SetURL(apiServer(t)) }}
	server := httptest.NewServer(http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
		if request.Method != http.MethodPatch || !strings.Contains(request.URL.Path, "/configmaps/") || writes.Add(1) > 1 {
			forward.ServeHTTP(writer, request)
			return
		}
		forward.ServeHTTP(httptest.NewRecorder(), request)
		swallowed.Add(1)
		<-request.Context().Done()
	}))
	t.Cleanup(server.Close)
	t.Cleanup(server.CloseClientConnections)

	r := newRig(t)
	r.create(r.secret("target", map[string]string{"value": leadingTo(strings.TrimPrefix(server.URL, "http://"))}))
	stop := r.start(r.reconciler(ReconcilerOptions{patience: clients.Patience{Answer: 20 * time.Second, Whole: 20 * time.Second}}))
	t.Cleanup(stop)
	widget := r.widget(oneConfigMap)
	widget.Spec.KubeConfig = &KubeConfigSpec{SecretRef: SecretKeyReference{Name: "target"}}
	r.create(widget)
	r.awaitEvent("Retrying", "No answer from the cluster at ")
	before := &corev1.ConfigMap{}
	if err := r.client.Get(t.Context(), client.ObjectKey{Namespace: r.namespace, Name: "settings"}, before); err != nil {
		t.Fatal(err)
	}
	awaitReady(r, widget)
	after := &corev1.ConfigMap{}
	if err := r.client.Get(t.Context(), client.ObjectKey{Namespace: r.namespace, Name: "settings"}, after); err != nil {
		t.Fatal(err)
	}
	if swallowed.Load() != 1 || before.UID != after.UID {
		t.Errorf("expected the object that was written without an answer (%s) to be taken over, got %s", before.UID, after.UID)
	}
	r.delete(widget)
	r.awaitGone(widget)
	if r.configMap("settings") != nil {
		t.Error("the dependent is left behind")
	}
}
