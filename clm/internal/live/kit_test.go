// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package live_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/component-operator/runtime/clm/internal/live"
	"github.com/component-operator/runtime/internal/display"
	"github.com/component-operator/runtime/internal/judges"
	"github.com/component-operator/runtime/internal/requests"
	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/cluster"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/status"
)

var update = flag.Bool("update", false, "write the pictures into testdata")

func init() {
	log.SetLogger(logr.Discard())
}

// world is a release in a namespace of its own, whose objects were created by hand.
type world struct {
	testing.TB
	client    client.Client
	namespace string
	config    *rest.Config
	requests  *testenv.Requests
	options   live.Options
	logs      *logs
	// hidden are texts that differ from one run to the other, and what is shown instead of them.
	hidden []string
}

func newWorld(t testing.TB) *world {
	t.Helper()
	config, requests := testenv.CountingConfig(t)
	w := &world{TB: t, client: testenv.Client(t), namespace: testenv.Namespace(t), config: config, requests: requests, logs: &logs{texts: map[string]string{}}}
	config.Wrap(w.logs.wrap)
	w.options.Client = newClient(t, config)
	// A pod that cannot be scheduled is taken for failed after a while: not here, where machines are slow.
	w.options.Judges = judges.New("test.component-operator.io", status.NewAnalyzer("test.component-operator.io", status.Options{Clock: testingclock.NewFakePassiveClock(time.Unix(0, 0))}))
	w.hidden = []string{w.namespace, "demo"}
	return w
}

func newClient(t testing.TB, config *rest.Config) cluster.Client {
	t.Helper()
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	clnt, err := client.New(config, client.Options{HTTPClient: httpClient, Scheme: testenv.Scheme(t)})
	if err != nil {
		t.Fatal(err)
	}
	discoveryClient, err := discovery.NewDiscoveryClientForConfigAndClient(config, httpClient)
	if err != nil {
		t.Fatal(err)
	}
	return cluster.NewClient(clnt, discoveryClient, record.NewFakeRecorder(100), config, httpClient)
}

// logs answers the requests for logs: the sandbox has no kubelets, so that no container ever writes anything.
// Everything else goes to the API server.
type logs struct {
	mu sync.Mutex
	// texts holds logs by container; "previous" after the name, separated by a blank, stands for that of the run
	// before.
	texts map[string]string
	// streams holds logs that go on until they are closed, by pod.
	streams map[string]io.ReadCloser
	// broken is a container whose log cannot be read.
	broken string
	asked  []string
}

func (l *logs) wrap(next http.RoundTripper) http.RoundTripper {
	return requests.RoundTripper(func(request *http.Request) (*http.Response, error) {
		entry := requests.New(request.Method, request.URL)
		if entry.Subresource != "log" || request.Header.Get("Impersonate-User") != "" {
			return next.RoundTrip(request)
		}
		container := request.URL.Query().Get("container")
		if request.URL.Query().Get("previous") == "true" {
			container += " previous"
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		l.asked = append(l.asked, request.URL.RawQuery)
		if l.broken == container {
			return next.RoundTrip(request)
		}
		body := l.streams[entry.Name]
		delete(l.streams, entry.Name)
		if body == nil {
			text := l.texts[container]
			if request.URL.Query().Get("tailLines") == "1" {
				text = text[strings.LastIndexByte(strings.TrimRight(text, "\n"), '\n')+1:]
			}
			body = io.NopCloser(strings.NewReader(text))
		}
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/plain"}}, Body: body, Request: request}, nil
	})
}

// create creates objects in the namespace of the test, unless they say otherwise, and records them in the inventory.
func (w *world) create(documents string) []*unstructured.Unstructured {
	w.Helper()
	objects := w.createForeign(documents)
	for _, object := range objects {
		w.record(object)
	}
	return objects
}

// createForeign creates objects that are not recorded.
func (w *world) createForeign(documents string) []*unstructured.Unstructured {
	w.Helper()
	objects := testenv.Objects(w, documents)
	for _, object := range objects {
		mapping, err := w.client.RESTMapper().RESTMapping(object.GroupVersionKind().GroupKind(), object.GroupVersionKind().Version)
		if err != nil {
			w.Fatal(err)
		}
		if mapping.Scope.Name() == "namespace" && object.GetNamespace() == "" {
			object.SetNamespace(w.namespace)
		}
		if err := w.client.Create(w.Context(), object); err != nil {
			w.Fatal(err)
		}
		if mapping.Scope.Name() == "root" {
			w.Cleanup(func() {
				// The test's own context has ended by now. A namespace may be on its way already.
				err := w.client.Delete(context.WithoutCancel(w.Context()), object)
				if client.IgnoreNotFound(err) != nil && !apierrors.IsConflict(err) {
					w.Errorf("deleting %s %s: %v", object.GetKind(), object.GetName(), err)
				}
			})
		}
	}
	return objects
}

func (w *world) record(object *unstructured.Unstructured) *reconciler.InventoryItem {
	item := &reconciler.InventoryItem{
		TypeVersionInfo: reconciler.TypeVersionInfo(object.GroupVersionKind()),
		NameInfo:        reconciler.NameInfo{Namespace: object.GetNamespace(), Name: object.GetName()},
		Phase:           reconciler.PhaseReady,
		UID:             object.GetUID(),
	}
	w.options.Items = append(w.options.Items, item)
	return item
}

func (w *world) tree() *live.Report {
	w.Helper()
	report, err := live.Tree(w.Context(), w.options)
	if err != nil {
		w.Fatal(err)
	}
	return report
}

// until takes pictures until one shows all given texts.
func (w *world) until(options display.WriteOptions, texts ...string) *live.Report {
	w.Helper()
	var report *live.Report
	testenv.Eventually(w, func() (bool, string) {
		report = w.tree()
		shown := w.show(report, options)
		for _, text := range texts {
			if !strings.Contains(shown, text) {
				return false, fmt.Sprintf("%q is not shown in:\n%s", text, shown)
			}
		}
		return true, ""
	})
	return report
}

// random are names that the cluster makes up.
var random = regexp.MustCompile(`\b([a-z]+)(-[0-9a-f]{8,10})?-[bcdfghjklmnpqrstvwxz2456789]{5}\b`)

// show prints nodes without what differs from one run to the other: names that are made up, ages, and the namespace.
func (w *world) show(report *live.Report, options display.WriteOptions) string {
	w.Helper()
	for _, node := range report.Nodes {
		freeze(strings.NewReplacer(w.hidden...), node)
	}
	var text bytes.Buffer
	if err := display.Write(&text, report.Nodes, options); err != nil {
		w.Fatal(err)
	}
	return text.String()
}

// freeze replaces in place, so that columns are aligned for the replaced names.
func freeze(hidden *strings.Replacer, node *display.Node) {
	plain := func(text string) string {
		return random.ReplaceAllString(hidden.Replace(text), "$1-#")
	}
	node.Object.APIVersion, node.Object.Namespace = hidden.Replace(node.Object.APIVersion), hidden.Replace(node.Object.Namespace)
	node.Object.Name, node.Message, node.Created = plain(node.Object.Name), plain(node.Message), time.Time{}
	if node.Object.Kind == "ReplicaSet" {
		name, _, _ := strings.Cut(node.Object.Name, "-")
		node.Object.Name = name + "-#"
	}
	for i := range node.Why {
		node.Why[i].Text, node.Why[i].Since, node.Why[i].Count = plain(node.Why[i].Text), time.Time{}, 0
	}
	for _, child := range node.Children {
		freeze(hidden, child)
	}
}

// golden takes pictures until one is that of the file. A new file is written as soon as the picture shows the given
// texts.
func (w *world) golden(name string, options display.WriteOptions, texts ...string) {
	w.Helper()
	path := "testdata/" + name
	if *update {
		golden(w, name, w.show(w.until(options, texts...), options))
	}
	want, err := os.ReadFile(path)
	if err != nil {
		w.Fatal(err)
	}
	testenv.Eventually(w, func() (bool, string) {
		diff := cmp.Diff(string(want), w.show(w.tree(), options))
		return diff == "", path + " (-want +got):\n" + diff
	})
}

// golden compares with a file of testdata.
func golden(t testing.TB, name, got string) {
	t.Helper()
	path := "testdata/" + name
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

// pods returns the pods of the namespace whose names begin with the prefix, at least as many as are wanted.
func (w *world) pods(prefix string, wanted int) []corev1.Pod {
	w.Helper()
	var found []corev1.Pod
	testenv.Eventually(w, func() (bool, string) {
		list := &corev1.PodList{}
		if err := w.client.List(w.Context(), list, client.InNamespace(w.namespace)); err != nil {
			w.Fatal(err)
		}
		found = nil
		for _, pod := range list.Items {
			if strings.HasPrefix(pod.Name, prefix) {
				found = append(found, pod)
			}
		}
		return len(found) >= wanted, fmt.Sprintf("%d of %d pods", len(found), wanted)
	})
	return found
}

// asKubelet sets the state of the first container of a pod, which is otherwise that of a pod that is running and never
// ready.
func (w *world) asKubelet(pod corev1.Pod, status corev1.ContainerStatus) {
	w.Helper()
	testenv.Eventually(w, func() (bool, string) {
		if err := w.client.Get(w.Context(), client.ObjectKeyFromObject(&pod), &pod); err != nil {
			return false, err.Error()
		}
		if len(pod.Status.ContainerStatuses) == 0 {
			return false, "the simulated kubelet has not seen the pod yet"
		}
		status.Name, status.Image = pod.Spec.Containers[0].Name, pod.Spec.Containers[0].Image
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{status}
		err := w.client.Status().Update(w.Context(), &pod)
		if err != nil && !apierrors.IsConflict(err) {
			w.Fatal(err)
		}
		return err == nil, "conflict"
	})
}
