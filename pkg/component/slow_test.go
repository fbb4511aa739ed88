// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/clients"
	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/manifests"
	"github.com/component-operator/runtime/pkg/types"
)

// TestOneSlowComponentDoesNotStarveOthers has the server answer no write to the dependents of one component, as a
// webhook does that hangs. The others must not notice.
func TestOneSlowComponentDoesNotStarveOthers(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var held atomic.Int64
	released := make(chan struct{})
	r.config = testenv.Intercept(r.config, func(request *http.Request, next http.RoundTripper) (*http.Response, error) {
		if request.Method == http.MethodPatch && strings.Contains(request.URL.Path, "/configmaps/slow-") {
			held.Add(1)
			<-released
		}
		return next.RoundTrip(request)
	})
	r.start(r.reconciler(ReconcilerOptions{}))
	component := func(name string) *Widget {
		var objects strings.Builder
		for i := range 40 {
			fmt.Fprintf(&objects, "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: %s-%d}}\n", name, i)
		}
		widget := r.widget(objects.String())
		widget.Name = name
		r.create(widget)
		return widget
	}
	slow := component("slow")
	testenv.Eventually(t, func() (bool, string) { return held.Load() > 1, "the slow component has not begun" })
	for i := range 10 {
		awaitReady(r, component(fmt.Sprintf("fast%d", i)))
	}
	if count := held.Load(); count > 16 {
		t.Errorf("want at most 16 requests side by side, got %d", count)
	}
	if err := r.client.Get(t.Context(), request(slow.Namespace, slow.Name).NamespacedName, slow); err != nil || slow.Status.IsReady() {
		t.Errorf("want the slow component to be still under way, got %+v, %v", slow.Status.State, err)
	}
	close(released)
	awaitReady(r, slow)
}

// TestSlowGeneratorsAreExplained has a generator that does not return for one of two components, although its context
// ends.
func TestSlowGeneratorsAreExplained(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	released := make(chan struct{})
	var calls, running, most atomic.Int64
	generate := func(ctx context.Context, namespace, name string, parameters types.Unstructurable) ([]client.Object, error) {
		if name != "demo" {
			return specObjects(ctx, namespace, name, parameters)
		}
		calls.Add(1)
		most.Store(max(most.Load(), running.Add(1)))
		defer running.Add(-1)
		<-released
		return specObjects(context.Background(), namespace, name, parameters)
	}
	r.start(NewReconciler[*Widget](r.name, manifests.GeneratorFunc(generate), ReconcilerOptions{MaxConcurrentReconciles: 1, generatorPatience: 100 * time.Millisecond}))
	slow := r.widget(oneConfigMap)
	slow.Spec.Timeout = &metav1.Duration{Duration: 15 * time.Second}
	r.create(slow)
	expect := func(state State, reason string, parts ...string) {
		t.Helper()
		await(r, slow, strings.Join(parts, "..."), func() bool {
			gotState, gotReason, message := slow.Status.GetState()
			return gotState == state && gotReason == reason && holdsAll(message, parts)
		})
	}
	expect(StateProcessing, ReadyConditionReasonProcessing, "Generating dependents: the generator was called at ", ", and has not returned yet")
	expect(StateError, ReadyConditionReasonTimeout, "Not ready within 15s: generating dependents: the generator was called at ", " and canceled after ", "s, but has not returned")
	// It says how long the call has lasted, which may be more than the timeout.
	if _, _, message := slow.Status.GetState(); !regexp.MustCompile(` and canceled after (1[5-9]|[2-5][0-9])s, but`).MatchString(message) {
		t.Errorf("want the call to be canceled after 15 seconds, got %s", message)
	}

	other := r.widget(strings.Replace(oneConfigMap, "settings", "others", 1))
	other.Name = "other"
	r.create(other)
	awaitReady(r, other)

	change(r, slow, func(w *Widget) { w.Spec.Objects = r.objects(strings.Replace(oneConfigMap, "red", "blue", 1)) })
	expect(StateProcessing, ReadyConditionReasonProcessing, "but has not returned; it will not be called again until it does")
	if calls.Load() != 1 {
		t.Errorf("want one call before it returns, got %d", calls.Load())
	}
	close(released)
	awaitReady(r, slow)
	if calls.Load() < 2 || most.Load() != 1 || r.configMap("settings")["color"] != "blue" {
		t.Errorf("want further calls, one after the other, and the present state, got %d, %d, %v", calls.Load(), most.Load(), r.configMap("settings"))
	}
}

// holdsAll reports whether a message has all parts.
func holdsAll(message string, parts []string) bool {
	for _, part := range parts {
		if !strings.Contains(message, part) {
			return false
		}
	}
	return true
}

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
				strings.HasSuffix(message, " for 3s; the kubeconfig is in Secret "+r.namespace+"/"+secret)
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
