// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/testenv"
)

// report reports an event about a ConfigMap.
func (p *place) report(about, kind, reason string) {
	p.Helper()
	object := &corev1.ConfigMap{}
	if err := p.client.Get(p.Context(), client.ObjectKey{Namespace: p.namespace, Name: about}, object); err != nil {
		p.Fatal(err)
	}
	event := &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: about + "." + strings.ToLower(reason)},
		Type:       kind, Reason: reason, Message: "is what happened", Count: 3, FirstTimestamp: metav1.Now(), LastTimestamp: metav1.Now(),
		InvolvedObject: corev1.ObjectReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: p.namespace, Name: about, UID: object.UID},
	}
	if err := p.client.Create(p.Context(), event); err != nil {
		p.Fatal(err)
	}
}

func TestEvents(t *testing.T) {
	t.Parallel()
	s := &transcript{place: newPlace(t)}
	s.must("apply", "web", s.file("app.yaml", configMap("a", "1")+configMap("b", "1")))
	s.must("apply", "other", s.file("app.yaml", configMap("c", "1")))
	s.run("events", "web")
	s.report("a", corev1.EventTypeNormal, "First")
	s.report("b", corev1.EventTypeWarning, "Second")
	s.report("c", corev1.EventTypeWarning, "Foreign")
	s.run("events", "web")
	s.run("events", "web", "--types", "warning")
	s.run("events", "web", "--types", "Normal", "-o", "json")
	s.run("events", "web", "--types", "Good")
	s.stable()
	s.expect("transcripts/events.txt")
}

// follow runs clm beside the test, which looks at what it prints. The functions that it returns give the exit code: the
// first interrupts clm, the second waits until clm has ended by itself.
func (p *place) follow(out io.Writer, args ...string) (interrupt, end func() int) {
	p.Helper()
	ctx, cancel := context.WithCancel(p.Context())
	ended := make(chan int, 1)
	p.Cleanup(cancel)
	go func() {
		ended <- run(ctx, streams{in: strings.NewReader(""), out: out, err: out}, append(args, "--kubeconfig", p.kubeconfig, "--namespace", p.namespace))
	}()
	end = func() int { return <-ended }
	return func() int { cancel(); return end() }, end
}

// expectIn waits until the output contains the text.
func expectIn(t *testing.T, output *testenv.Output, text string) {
	t.Helper()
	testenv.Eventually(t, func() (bool, string) {
		got := output.String()
		return strings.Contains(got, text), fmt.Sprintf("%q is missing in:\n%s", text, got)
	})
}

func TestEventsAsTheyCome(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.must("apply", "web", p.file("app.yaml", configMap("a", "1")+configMap("b", "1")))
	p.report("a", corev1.EventTypeWarning, "Before")
	out := &testenv.Output{}
	interrupt, _ := p.follow(out, "events", "web", "--watch", "--types", "Warning")
	expectIn(t, out, "Warning  ConfigMap "+p.namespace+"/a: Before: is what happened (3 times)\n")
	p.report("a", corev1.EventTypeNormal, "Unwanted")
	p.report("b", corev1.EventTypeWarning, "After")
	expectIn(t, out, "Warning  ConfigMap "+p.namespace+"/b: After: is what happened (3 times)\n")
	if code := interrupt(); code != exitInterrupted {
		t.Errorf("got exit code %d", code)
	}
	if got := out.String(); strings.Contains(got, "Unwanted") || strings.Count(got, "\n") != 2 {
		t.Errorf("got\n%s", got)
	}
	if _, err := time.Parse(time.DateTime, out.String()[:len(time.DateTime)]); err != nil {
		t.Error(err)
	}
}
