// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/testenv"
)

// deployment is the manifest of a Deployment whose pod the simulated kubelet treats as the annotations say, on a node
// as the selector says.
func deployment(name, annotations, nodeSelector string) string {
	return strings.NewReplacer("NAME", name, "ANNOTATIONS", annotations, "NODES", nodeSelector).Replace(`
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: NAME}
spec:
  selector: {matchLabels: {app: NAME}}
  template:
    metadata: {labels: {app: NAME}, annotations: {ANNOTATIONS}}
    spec: {nodeSelector: {NODES}, containers: [{name: main, image: example.com/NAME:1}]}
`)
}

const neverReady = `sandbox.component-operator.io/never-ready: "true"`

// cannotPull has the container of a pod wait for its image, as the kubelet would say.
func (p *place) cannotPull(app string) {
	p.Helper()
	testenv.Eventually(p, func() (bool, string) {
		pods := &corev1.PodList{}
		if err := p.client.List(p.Context(), pods, client.InNamespace(p.namespace), client.MatchingLabels{"app": app}); err != nil {
			p.Fatal(err)
		}
		if len(pods.Items) != 1 || len(pods.Items[0].Status.ContainerStatuses) == 0 {
			return false, "the simulated kubelet has not seen the pod yet"
		}
		pod := &pods.Items[0]
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", Image: pod.Spec.Containers[0].Image, State: corev1.ContainerState{
			Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff", Message: "Back-off pulling image: not found"},
		}}}
		err := p.client.Status().Update(p.Context(), pod)
		return err == nil, fmt.Sprint(err)
	})
}

// eventuallyShows runs clm until what it prints has all the texts.
func (p *place) eventuallyShows(args []string, texts ...string) {
	p.Helper()
	testenv.Eventually(p, func() (bool, string) {
		got := p.clm(args...)
		for _, text := range texts {
			if !strings.Contains(got.stdout, text) {
				return false, fmt.Sprintf("%q is missing in\n%s%s", text, got.stdout, got.stderr)
			}
		}
		return true, ""
	})
}

var (
	// randomPattern matches names that the cluster makes up.
	randomPattern = regexp.MustCompile(`\b([a-z]+)-[0-9a-f]{8,10}(-[bcdfghjklmnpqrstvwxz2456789]{5})?\b`)
	// timeoutPattern matches what was not ready when the time was over.
	timeoutPattern = regexp.MustCompile(`(timed out after \S+): .*`)
	// unplacedPattern matches the verdict on a pod that cannot be scheduled, which is given up at some time, and the
	// words of the scheduler.
	unplacedPattern  = regexp.MustCompile(`(?:InProgress|Failed) +(.*)PodScheduled is False.*`)
	schedulerPattern = regexp.MustCompile(`cannot be scheduled: .*?( \(since \S+\))?\n`)
	idPattern        = regexp.MustCompile(`"uid": "[^"]+"`)
	// holderPattern matches user, host and process.
	holderPattern = regexp.MustCompile(`\S+@\S+/\d+`)
)

// stable replaces what differs from run to run beside what transcripts replace anyway.
func (s *transcript) stable() {
	text := randomPattern.ReplaceAllString(s.text.String(), "$1-#")
	text = holderPattern.ReplaceAllString(text, "SOMEBODY")
	text = timeoutPattern.ReplaceAllString(text, "$1: AND SO ON")
	text = unplacedPattern.ReplaceAllString(text, "VERDICT  ${1}PodScheduled is False")
	text = schedulerPattern.ReplaceAllString(text, "cannot be scheduled: AND SO ON$1\n")
	text = idPattern.ReplaceAllString(text, `"uid": "ID"`)
	s.text.Reset()
	s.text.WriteString(text)
}

// TestStatusAndTree looks at a release of which one object is ready, one cannot be scheduled, and one cannot be pulled.
func TestStatusAndTree(t *testing.T) {
	t.Parallel()
	s := &transcript{place: newPlace(t)}
	first := strings.ReplaceAll(configMap("first", "1"), "{name: first}", `{name: first, annotations: {clm.cs.sap.com/apply-order: "-1"}}`)
	last := strings.ReplaceAll(configMap("last", "1"), "{name: last}", `{name: last, annotations: {clm.cs.sap.com/apply-order: "1"}}`)
	for _, manifest := range []string{first + deployment("image", neverReady, ""), first + deployment("image", neverReady, "") + deployment("good", "", "") +
		deployment("place", "", "disk: none") + last} {
		got := s.timesOut("waiting until wave 0 is ready", "apply", "web", s.file("app.yaml", manifest), "--timeout", "10m")
		if got.code != exitNotReady {
			t.Fatalf("got exit code %d, %s", got.code, got.stderr)
		}
		// One after the other, so that it is certain which problem is older.
		s.eventuallyShows([]string{"tree", "web"}, "ContainersNotReady")
		s.awaitSecondAfter(metav1.Now())
	}
	s.cannotPull("image")
	s.eventuallyShows([]string{"status", "web"}, "ImagePullBackOff", "cannot be scheduled")
	s.eventuallyShows([]string{"tree", "web"}, "Pod good", "1/1 replicas available", "Unschedulable")
	s.run("status", "web")
	s.run("tree", "web")
	s.run("tree", "web", "--why", "-o", `jsonpath={range .status.dependents[*]}{.object.kind}/{.object.name}: {.status}, {.children[0].children[0].why[0].text}{"\n"}{end}`)
	s.run("status", "web", "-o", `jsonpath={.status.state} {.status.ready} {.status.waves}`)
	// It stays as it is, whatever it waits for.
	s.run("status", "web", "--watch", "-o", "name")
	s.run("status", "known-to-nobody")
	s.stable()
	s.expect("transcripts/status.txt")
}

// TestStatusOfAnUnfinishedRelease is about who is working on it.
func TestStatusOfAnUnfinishedRelease(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	source := p.file("app.yaml", deployment("web", neverReady, ""))
	applying := p.begin("apply", "web", source)
	p.eventuallyShows([]string{"status", "web"}, "Applying", "has been working on it for", "1 not ready", "Pod web-")
	applying.interrupt()
	if got := <-applying.ended; got.code != exitInterrupted {
		t.Fatalf("got exit code %d, %s", got.code, got.stderr)
	}
	got := p.clm("status", "web")
	if got.code != exitNotReady || !strings.Contains(got.stdout, "no process is working on it, and all objects are applied; to wait until they are ready: clm wait") {
		t.Errorf("got exit code %d, %s", got.code, got.stdout)
	}
}

// podName returns the name of the only pod of an app.
func (p *place) podName(app string) string {
	p.Helper()
	pods := &corev1.PodList{}
	if err := p.client.List(p.Context(), pods, client.InNamespace(p.namespace), client.MatchingLabels{"app": app}); err != nil {
		p.Fatal(err)
	}
	if len(pods.Items) != 1 {
		p.Fatalf("%s has %d pods", app, len(pods.Items))
	}
	return pods.Items[0].Name
}

// TestLookWhileAnOperationEnds ends an operation after its record was read and before its lock is: the release is shown
// as it is then.
func TestLookWhileAnOperationEnds(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	applied := p.begin("apply", "web", p.gated("1"))
	p.reachGate()
	var once sync.Once
	late := p.through(newProxy(t, func(x *proxy) {
		x.before = func(request testenv.Request) bool {
			if isLease(request) && request.Method == http.MethodGet {
				once.Do(func() {
					p.openGate()
					<-applied.ended
				})
			}
			return true
		}
	}))
	got := late.clm("status", "web")
	p.expect(got, 0)
	if !strings.Contains(got.stdout, "State:      Ready (for ") || strings.Contains(got.stdout, "no process is working on it") {
		t.Errorf("got\n%s", got.stdout)
	}
	p.must("delete", "web")
}

// TestChangesAfterAnInterrupt follows a release that becomes ready although no process works on it any more.
func TestChangesAfterAnInterrupt(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	applied := p.begin("apply", "web", p.file("gate.yaml", gate))
	p.reachGate()
	applied.interrupt()
	<-applied.ended
	status := &testenv.Output{}
	_, end := p.follow(status, "status", "web", "--watch")
	expectIn(t, status, "to wait until they are ready: clm wait")
	p.openGate()
	expectIn(t, status, "release "+p.namespace+"/web: Ready\n")
	if code := end(); code != 0 {
		t.Errorf("got exit code %d: %s", code, status)
	}
}

// TestWatchReadsWhatHasChanged follows a release of which dependents change, and then the record.
func TestWatchReadsWhatHasChanged(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.must("apply", "web", p.file("app.yaml", configMap("first", "1")+configMap("second", "1")))
	x := newProxy(t, nil)
	shown := &testenv.Output{}
	interrupt, _ := p.through(x).follow(shown, "tree", "web", "--watch")
	count := func(isRecord bool) int {
		return x.requests.Count(func(r testenv.Request) bool {
			return r.Resource != "" && !r.IsWatch() && (r.Resource == "secrets") == isRecord
		})
	}
	remove := func(name string) {
		if err := p.client.Delete(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: name}}); err != nil {
			t.Fatal(err)
		}
		expectIn(t, shown, "ConfigMap "+p.namespace+"/"+name+": NotFound: does not exist")
	}
	testenv.Eventually(t, func() (bool, string) {
		return x.requests.Count(func(r testenv.Request) bool { return r.Resource == "secrets" && r.IsWatch() }) > 0, "the record is not watched yet"
	})
	remove("first")
	records, others := count(true), count(false)
	remove("second")
	if count(true) != records || count(false) != others+1 {
		t.Errorf("expected one request, for the missing object, after %d and %d, got:\n%s", records, others, x.requests)
	}
	p.must("apply", "web", p.file("next.yaml", configMap("third", "1")))
	expectIn(t, shown, "ConfigMap "+p.namespace+"/third: Current: ready")
	if count(true) == records {
		t.Error("the record has changed, and was not read")
	}
	if code := interrupt(); code != exitInterrupted {
		t.Errorf("got exit code %d", code)
	}
}
