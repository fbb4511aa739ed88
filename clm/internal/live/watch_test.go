// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package live_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/clm/internal/live"
	"github.com/component-operator/runtime/internal/display"
	"github.com/component-operator/runtime/internal/judges"
	"github.com/component-operator/runtime/internal/requests"
	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/status"
)

// followed is a tree that is followed.
type followed struct {
	*world
	*live.Survey

	calls   atomic.Int64
	trouble atomic.Int64
}

func (w *world) follow() *followed {
	w.Helper()
	f := &followed{world: w}
	f.Survey = live.NewSurvey(live.Sink{Changed: func() { f.calls.Add(1) }, Trouble: func(error) { f.trouble.Add(1) }})
	w.Cleanup(f.Close)
	if err := f.Set(w.options); err != nil {
		w.Fatal(err)
	}
	return f
}

func (f *followed) now() *live.Report {
	f.Helper()
	report, err := f.Tree(f.Context())
	if err != nil {
		f.Fatal(err)
	}
	return report
}

// shows waits until the tree shows the texts. It looks only when it is told to.
func (f *followed) shows(texts ...string) *live.Report {
	f.Helper()
	var report *live.Report
	seen := int64(-1)
	testenv.Eventually(f, func() (bool, string) {
		calls := f.calls.Load()
		if calls == seen {
			return false, fmt.Sprintf("%q is not shown, and there was no call", texts)
		}
		seen, report = calls, f.now()
		shown := f.show(report, display.WriteOptions{Why: true})
		for _, text := range texts {
			if !strings.Contains(shown, text) {
				return false, fmt.Sprintf("%q is not shown in:\n%s", text, shown)
			}
		}
		return true, ""
	})
	return report
}

// expect compares the requests for objects and logs since the last call, other than those that begin watches, and
// forgets them.
func (f *followed) expect(reason string, want int) {
	f.Helper()
	f.logs.mu.Lock()
	defer f.logs.mu.Unlock()
	got := f.requests.Count(func(r testenv.Request) bool { return r.Resource != "" && !r.IsWatch() })
	if got += len(f.logs.asked); got != want {
		f.Errorf("%s: expected %d requests, got %v and\n%s", reason, want, f.logs.asked, f.requests)
	}
	f.logs.asked = nil
	f.requests.Reset()
}

func TestSurvey(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	objects := w.create(workload("Deployment", "web", neverReady) + "\n---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}}")
	w.until(display.WriteOptions{Why: true}, "running, but not ready")
	pod := w.pods("web", 1)[0]
	w.requests.Reset()
	f := w.follow()
	first := f.shows("running, but not ready")
	// Deployments, ConfigMaps, ReplicaSets, Pods, claims, events.
	f.expect("the first tree takes a list for each kind and for events, whatever it shows", 6)
	before := f.show(first, display.WriteOptions{Why: true})
	f.now()
	f.expect("nothing has changed", 0)

	foreign := w.createForeign(strings.ReplaceAll(barePod, "NAME", "other"))[0]
	w.report(&pod, corev1.Event{Reason: "Unhealthy", Message: "probe failed"})
	f.shows("Unhealthy: probe failed")
	f.expect("an event", 0)
	w.logs.texts["main previous"] = "boom\n"
	crashed := corev1.ContainerStateTerminated{ExitCode: 1, FinishedAt: pod.CreationTimestamp}
	w.asKubelet(pod, corev1.ContainerStatus{
		RestartCount: 1, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}, LastTerminationState: corev1.ContainerState{Terminated: &crashed},
	})
	f.shows("CrashLoopBackOff", "boom")
	f.expect("a crash has a log", 1)
	if err := w.client.Patch(t.Context(), objects[0], mergePatch([]byte(`{"spec":{"replicas":2}}`))); err != nil {
		t.Fatal(err)
	}
	f.shows("boom", "running, but not ready")
	f.expect("another pod, and the same crash", 0)
	if err := w.client.Delete(t.Context(), objects[1]); err != nil {
		t.Fatal(err)
	}
	f.shows("does not exist")
	f.expect("a deletion", 0)

	// Watches of objects of one kind report in order.
	testenv.Eventually(t, func() (bool, string) {
		calls := f.calls.Load()
		for _, object := range []client.Object{foreign, &pod} {
			if err := w.client.Patch(t.Context(), object, mergePatch(fmt.Appendf(nil, `{"metadata":{"labels":{"count":"%d"}}}`, calls))); err != nil {
				t.Fatal(err)
			}
		}
		testenv.Eventually(t, func() (bool, string) { return f.calls.Load() > calls, "a pod of ours was labelled" })
		return f.calls.Load() == calls+1, "the pod of others makes a call as well"
	})
	if after := f.show(first, display.WriteOptions{Why: true}); after != before {
		t.Errorf("the first tree was\n%s\nand is now\n%s", before, after)
	}

	w.options.Items = w.options.Items[:1]
	w.create(`{apiVersion: v1, kind: Secret, metadata: {name: token}}`)
	w.requests.Reset()
	if err := f.Set(w.options); err != nil {
		t.Fatal(err)
	}
	if shown := f.show(f.now(), display.WriteOptions{}); !strings.Contains(shown, "Secret demo/token") || strings.Contains(shown, "settings") {
		t.Errorf("got\n%s", shown)
	}
	f.expect("the watches of the other kinds continue", 1)
}

const barePod = `
apiVersion: v1
kind: Pod
metadata: {name: NAME}
spec: {containers: [{name: main, image: demo:1}]}
`

func TestSurveyOfUnlabelledObjects(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	objects := w.create(`{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {of: us}}}` + "\n---\n" + `{apiVersion: v1, kind: ConfigMap, metadata: {name: b}}`)
	w.options.Reasons, w.options.Selector = live.NoReasons, labels.SelectorFromSet(labels.Set{"of": "us"})
	f := w.follow()
	isComplete := func() bool {
		return !slices.ContainsFunc(slices.Concat(f.now().Nodes, f.now().Nodes), func(node *display.Node) bool { return node.Live == nil })
	}
	if !isComplete() {
		t.Error("expected the object without the label to be found")
	}
	f.expect("a list, and one request for the object that is not in it", 2)
	if err := w.client.Patch(t.Context(), objects[0], mergePatch([]byte(`{"metadata":{"labels":null}}`))); err != nil {
		t.Fatal(err)
	}
	testenv.Eventually(t, func() (bool, string) { return f.calls.Load() > 0, "the label is lost" })
	if !isComplete() {
		t.Error("expected the object that has lost its label to be found")
	}
	f.expect("the object has left the list", 1)
}

// changing is a judge of objects that become ready with time alone.
type changing struct {
	mu     sync.Mutex
	judged map[string]int
}

func (c *changing) Rules() string { return "" }

func (c *changing) Judge(object *unstructured.Unstructured) status.Result {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.judged[object.GetName()]++
	if object.GetName() == "late" && c.judged["late"] == 1 {
		return status.Result{Status: status.InProgressStatus, Deadline: time.Millisecond}
	}
	return status.Result{Status: status.CurrentStatus}
}

func TestSurveyAtADeadline(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(`{apiVersion: v1, kind: ConfigMap, metadata: {name: late}}` + "\n---\n" + `{apiVersion: v1, kind: ConfigMap, metadata: {name: ready}}`)
	judge := &changing{judged: map[string]int{}}
	w.options.Judges = judges.New("test.component-operator.io", judge)
	f := w.follow()
	report := f.now()
	if report.Nodes[0].Status != status.InProgressStatus || report.Deadline <= 0 {
		t.Errorf("got %s, to be judged again after %s", report.Nodes[0].Status, report.Deadline)
	}
	f.requests.Reset()
	testenv.Eventually(t, func() (bool, string) {
		report = f.now()
		return report.Nodes[0].Status == status.CurrentStatus, "not judged again"
	})
	f.expect("the time has passed", 0)
	if judge.judged["late"] != 2 || judge.judged["ready"] != 1 || report.Deadline != 0 {
		t.Errorf("got %v, and %s", judge.judged, report.Deadline)
	}
}

// TestSurveyAfterARestart breaks all connections, and answers as an API server does that does not know the past.
func TestSurveyAfterARestart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	object := w.create(`{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}`)[0]
	var mu sync.Mutex
	var streams []io.Closer
	down, expired, lists := false, false, 0
	w.options.Client = newClient(t, testenv.Intercept(w.config, func(request *http.Request, next http.RoundTripper) (*http.Response, error) {
		mu.Lock()
		defer mu.Unlock()
		entry := requests.New(request.Method, request.URL)
		switch {
		case down:
			return nil, errors.New("connection refused")
		case entry.IsWatch() && entry.Resource == "configmaps" && expired:
			expired = false
			gone := `{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410}}`
			return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(gone)), Request: request}, nil
		case entry.Resource == "configmaps" && !entry.IsWatch():
			if lists++; lists == 2 {
				return nil, errors.New("not ready yet")
			}
		}
		response, err := next.RoundTrip(request)
		if err == nil && entry.IsWatch() {
			streams = append(streams, response.Body)
		}
		return response, err
	}))
	f := w.follow()
	f.shows("ConfigMap demo/a")
	testenv.Eventually(t, func() (bool, string) { mu.Lock(); defer mu.Unlock(); return len(streams) == 2, "no watches yet" })
	mu.Lock()
	down, expired = true, true
	for _, stream := range streams {
		_ = stream.Close()
	}
	mu.Unlock()
	if err := w.client.Delete(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	down = false
	mu.Unlock()
	f.shows("does not exist")
	if f.trouble.Load() == 0 {
		t.Error("neither the lost connections nor the failed list were reported")
	}
}

func TestSurveyThatMayNotWatch(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(`{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}`)
	config := testenv.Intercept(w.config, func(request *http.Request, next http.RoundTripper) (*http.Response, error) {
		if requests.New(request.Method, request.URL).IsWatch() {
			request = request.Clone(request.Context())
			request.Header.Set("Impersonate-User", "nobody")
		}
		return next.RoundTrip(request)
	})
	w.options.Client, w.options.Reasons = newClient(t, config), live.NoReasons
	f := w.follow()
	testenv.Eventually(t, func() (bool, string) {
		report := f.now()
		return len(report.Notes) == 1 && report.Notes[0].Verb == "list and watch" && report.Nodes[0].Live != nil, fmt.Sprint(report.Notes)
	})
	f.expect("what cannot be watched is listed", 1)
	f.now()
	f.expect("it is not listed again so soon", 0)
}

// TestSurveyOfEvents checks that normal events are kept, and are no reasons.
func TestSurveyOfEvents(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(workload("Deployment", "web", neverReady))
	w.until(display.WriteOptions{Why: true}, "running, but not ready")
	w.options.Events = true
	report := w.follow().shows("running, but not ready")
	normal := 0
	for _, event := range report.Events {
		if event.Type == corev1.EventTypeNormal {
			normal++
		}
	}
	if normal == 0 {
		t.Errorf("no normal events among %v", report.Events)
	}
	for _, root := range report.Nodes {
		root.Walk(func(node *display.Node) {
			for _, reason := range node.Why {
				if reason.Source == display.SourceEvent {
					t.Errorf("%s: an event is a reason: %s", node, reason.Text)
				}
			}
		})
	}
}
