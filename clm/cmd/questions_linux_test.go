// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/component-operator/runtime/internal/testenv"
)

// TestQuestions answers each question with no and with yes, and one with nothing.
func TestQuestions(t *testing.T) {
	t.Parallel()
	for name, d := range allDeeds() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			args := d.prepare(p)
			if d.asked != "" {
				p.refuse(t, name, d.asked, args)
			}
			command, screen := p.startOnTerminal(t, []string{patienceVariable + "=1ns"}, args...)
			if slices.Contains([]string{"apply", "drift", "rollback"}, name) {
				screen.expect(t, comparing+" …")
			}
			if d.asked != "" {
				screen.expect(t, "[y/N] ")
				screen.enter(t, "y\n")
			}
			expectExit(t, command, screen, 0)
			if got := d.state(p); got != d.want {
				t.Errorf("want %q, got %q", d.want, got)
			}
			if d.asked == "" && strings.Contains(screen.sent(), "[y/N]") {
				t.Errorf("want no question:\n%s", screen.frame())
			}
		})
	}
}

// inContext adds the context of the kubeconfig to a question.
func inContext(t *testing.T, question string) string {
	t.Helper()
	config, err := clientcmd.LoadFromFile(testenv.Kubeconfig(t))
	if err != nil {
		t.Fatal(err)
	}
	at := strings.IndexAny(question, ",?")
	return question[:at] + " in context " + config.CurrentContext + question[at:]
}

// refuse answers a question with no.
func (p *place) refuse(t *testing.T, name, question string, args []string) {
	t.Helper()
	before := p.versions()
	answers := []string{"n\n"}
	if name == "delete" {
		answers = append(answers, "\n")
	}
	for _, answer := range answers {
		command, screen := p.startOnTerminal(t, nil, args...)
		screen.resize(t, 250, 40)
		screen.expect(t, inContext(t, strings.ReplaceAll(question, "PLACE", p.namespace))+" [y/N] ")
		screen.enter(t, answer)
		expectExit(t, command, screen, exitRefused)
		screen.expect(t, "not confirmed; nothing was changed")
		if diff := cmp.Diff(before, p.versions()); diff != "" {
			t.Errorf("something was done (-before +after):\n%s", diff)
		}
		if answer == "n\n" {
			expectGolden(t, "questions/"+name+".txt", strings.ReplaceAll(p.stable(screen.frame()), inContext(t, "?"), " in context CONTEXT?"))
		}
	}
}

// TestWhatWasAgreedToIsDone has another client create an object while the question is on the screen.
func TestWhatWasAgreedToIsDone(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	source := p.file("app.yaml", configMap("ours", "1")+configMap("theirs", "1"))
	command, screen := p.startOnTerminal(t, nil, "apply", "web", source)
	screen.expect(t, "[y/N] ")
	theirs := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: "theirs"}, Data: map[string]string{"precious": "data"}}
	if err := p.client.Create(t.Context(), theirs); err != nil {
		t.Fatal(err)
	}
	screen.enter(t, "y\n")
	expectExit(t, command, screen, exitRefused)
	screen.expect(t, p.namespace+"/theirs: was created since the plan was made")
	if names := fmt.Sprint(p.names("v1", "ConfigMap")); names != "[]" || p.configMap("theirs")["precious"] != "data" {
		t.Errorf("want nothing to be done, got %s and %v", names, p.configMap("theirs"))
	}
	command, screen = p.startOnTerminal(t, nil, "apply", "web", source)
	screen.expect(t, "[y/N] ")
	screen.enter(t, "y\n")
	expectExit(t, command, screen, 0)
}
