// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"bytes"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
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

// script runs a script of a shell in a terminal of its own, in which clm is the program that the test is.
func (p *place) script(t *testing.T, text string, environment ...string) (*exec.Cmd, *typist) {
	t.Helper()
	screen, device := newTerminal(t)
	clm := p.process()
	command := exec.Command("sh", "-c", strings.ReplaceAll(text, "clm ", clm.Path+" --kubeconfig "+p.kubeconfig+" --namespace "+p.namespace+" "))
	command.Env = append(append(clm.Env, "TERM=xterm", "CI=", "NO_COLOR="), environment...)
	command.Dir = filepath.Dir(p.file("release", "web\n"))
	command.Stdin, command.Stdout, command.Stderr = device, device, device
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	_ = device.Close()
	t.Cleanup(func() {
		if command.ProcessState == nil {
			_ = syscall.Kill(-command.Process.Pid, syscall.SIGKILL)
			_ = command.Wait()
		}
	})
	return command, screen
}

// TestQuestionsReachTheTerminal redirects the standard streams of a process that was started on a terminal.
func TestQuestionsReachTheTerminal(t *testing.T) {
	t.Parallel()
	for script, shown := range map[string]string{
		"echo y | clm delete web":                          "  ConfigMap a",
		"clm delete web </dev/null":                        "  ConfigMap a",
		"clm delete web 2>messages":                        "  ConfigMap a",
		"clm delete web </dev/null >output 2>&1":           "  ConfigMap a",
		"while read r; do clm delete $r; done <release":    "  ConfigMap a",
		"echo y | clm orphan web cm/a >output 2>&1":        "release PLACE/web, new revision 2",
		"echo y | clm drift web --correct >output 2>&1":    "changed by somebody",
		"echo y | clm drift web --correct -o json >output": "changed by somebody",
		"echo y | clm doctor web --fix >output 2>&1":       "ConfigMap PLACE/marked",
		"echo y | clm doctor web --fix -o name >output":    "ConfigMap PLACE/marked",
		"echo '" + oneObject + "' | clm apply web -":       "release PLACE/web, new revision 2",
		"echo '" + oneObject + "' | clm apply web - 2>m":   "release PLACE/web, new revision 2",
	} {
		t.Run(script, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			p.must("apply", "web", p.file("app.yaml", configMap("a", "1")))
			p.change("a", "2")
			p.must("apply", "other", p.file("other.yaml", configMap("marked", "1")))
			p.as("somebody", configMapKind, "marked", p.mark("web"))
			before := p.versions()
			for _, answer := range []string{"n\n", "\n", "\x04"} {
				command, screen := p.script(t, script)
				screen.expect(t, "[y/N] ")
				screen.expect(t, strings.ReplaceAll(shown, "PLACE", p.namespace))
				screen.enter(t, answer)
				expectExit(t, command, screen, exitRefused)
				if diff := cmp.Diff(before, p.versions()); diff != "" {
					t.Errorf("something was done after %q (-before +after):\n%s", answer, diff)
				}
			}
			command, screen := p.script(t, script)
			screen.expect(t, "[y/N] ")
			screen.enter(t, "\x03")
			_ = command.Wait()
			if diff := cmp.Diff(before, p.versions()); diff != "" {
				t.Errorf("something was done after an interrupt (-before +after):\n%s", diff)
			}
			command, screen = p.script(t, script)
			screen.expect(t, "[y/N] ")
			screen.enter(t, "y\n")
			expectExit(t, command, screen, 0)
			if diff := cmp.Diff(before, p.versions()); diff == "" {
				t.Error("nothing was done")
			}
		})
	}
}

// TestAnswersBeforeTheQuestion types what would be consent before the question is asked, as after a pasted block of
// commands.
func TestAnswersBeforeTheQuestion(t *testing.T) {
	t.Parallel()
	for _, script := range []string{"read line; clm delete web", "read line; clm delete web </dev/null", "read line; clm drift web --correct"} {
		p := newPlace(t)
		p.must("apply", "web", p.file("app.yaml", configMap("a", "1")))
		p.change("a", "2")
		before := p.versions()
		command, screen := p.script(t, script)
		screen.enter(t, "first\ny\ny\n")
		screen.expect(t, "[y/N] ")
		screen.enter(t, "n\n")
		expectExit(t, command, screen, exitRefused)
		if diff := cmp.Diff(before, p.versions()); diff != "" {
			t.Errorf("%s: something was done that nobody has agreed to (-before +after):\n%s", script, diff)
		}
	}
}

const oneObject = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"value":"3"}}`

// TestNoQuestionsWithoutAUser runs commands where no user can answer. Only those with --yes continue.
func TestNoQuestionsWithoutAUser(t *testing.T) {
	t.Parallel()
	for name, d := range allDeeds() {
		if d.asked == "" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			args := d.prepare(p)
			before := p.versions()
			refused := func(where string, command *exec.Cmd, output func() string) {
				_ = command.Wait()
				if code := command.ProcessState.ExitCode(); code != exitRefused {
					t.Errorf("%s: want a refusal, got %s:\n%s", where, command.ProcessState, output())
				}
				testenv.Eventually(t, func() (bool, string) {
					said := output()
					return strings.Contains(said, "clm cannot ask") && strings.Contains(said, "--yes"), where + ": what helps is not said: " + said
				})
				if diff := cmp.Diff(before, p.versions()); diff != "" {
					t.Errorf("%s: something was done (-before +after):\n%s", where, diff)
				}
			}
			background, screen := p.script(t, "set -m; clm "+strings.Join(args, " ")+" & wait $!")
			refused("in the background of a terminal", background, screen.sent)
			declared := name == "apply" || name == "rollback"
			if !declared {
				command, screen := p.startOnTerminal(t, []string{"CI=true"}, args...)
				refused("where CI is set", command, screen.sent)
			}
			command, output := p.process(args...), &bytes.Buffer{}
			command.Stdin, command.Stdout, command.Stderr = strings.NewReader("y\n"), output, output
			if err := command.Start(); err != nil {
				t.Fatal(err)
			}
			if !declared {
				refused("without a terminal", command, output.String)
				if !strings.Contains(output.String(), p.namespace+"/") {
					t.Errorf("want to be told what would be done, got:\n%s", output)
				}
				p.must(append(args, "-y")...)
			} else if err := command.Wait(); err != nil {
				t.Errorf("want what is declared to be done, got %v:\n%s", err, output)
			}
			if got := d.state(p); got != d.want {
				t.Errorf("want %q, got %q", d.want, got)
			}
		})
	}
}

// TestRefusalsOfTheServer plans objects that the API server refuses.
func TestRefusalsOfTheServer(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	source := p.file("app.yaml", configMap("good", "1")+"\n---\n{apiVersion: v1, kind: Service, metadata: {name: bad}, spec: {ports: [{port: 99999}]}}\n")
	for _, args := range [][]string{{"plan", "web", source}, {"apply", "web", source, "--dry-run=server"}} {
		got := p.expect(p.clm(args...), exitRefused)
		if got.stderr != "Error: the API server rejects 1 of the objects, as shown above\n" || !strings.Contains(got.stdout, "! Service "+p.namespace+"/bad") {
			t.Errorf("clm %s: got %s%s", args[0], got.stdout, got.stderr)
		}
	}
	// It is saved nevertheless: the server may accept the object later.
	saved := filepath.Join(t.TempDir(), "web.plan")
	p.expect(p.clm("plan", "web", source, "--out", saved), exitRefused, "The plan is saved.")
	p.expect(p.clm("apply", "web", "--plan", saved), 1, "rejected by the API server")
	p.must("delete", "web")
	command, screen := p.startOnTerminal(t, nil, "apply", "web", source)
	screen.resize(t, 250, 40)
	screen.expect(t, inContext(t, "Create release "+p.namespace+"/web, although the API server rejects 1 of its objects?")+" [y/N] ")
	screen.enter(t, "n\n")
	expectExit(t, command, screen, exitRefused)
}

// TestPlannedDeletionsAreLimited plans to delete more objects than clm apply would.
func TestPlannedDeletionsAreLimited(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.must("apply", "web", p.file("first.yaml", configMap("a", "1")+configMap("b", "1")))
	other := p.file("second.yaml", configMap("c", "1"))
	planned, applied := p.expect(p.clm("plan", "web", other), exitRefused), p.expect(p.clm("apply", "web", other), exitRefused)
	if planned.stderr != applied.stderr || !strings.Contains(planned.stderr, "--max-deletions 100%") {
		t.Errorf("want the same refusal, got %q and %q", planned.stderr, applied.stderr)
	}
	p.must("plan", "web", other, "--max-deletions", "100%")
	p.must("delete", "web")
}

// TestDeletionWarnsOfNamespaces shows before the question that a namespace will stay, because others have objects in
// it.
func TestDeletionWarnsOfNamespaces(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	inner := p.namespace + "-inner"
	p.must("apply", "web", p.file("app.yaml", "{apiVersion: v1, kind: Namespace, metadata: {name: PLACE-inner}}\n"))
	if got := p.must("delete", "web", "--dry-run").stdout; strings.Contains(got, "will be kept") {
		t.Errorf("want no warning, got %s", got)
	}
	theirs := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: inner, Name: "theirs"}}
	if err := p.client.Create(t.Context(), theirs); err != nil {
		t.Fatal(err)
	}
	warning := "Of these, the following namespaces will be kept until nothing else is left in them:\n  Namespace " + inner + ": "
	got := p.must("delete", "web", "--dry-run").stdout
	if !strings.Contains(got, warning) || !strings.Contains(got, "ConfigMap "+inner+"/theirs") {
		t.Errorf("want a warning, got %s", got)
	}
	command, screen := p.startOnTerminal(t, nil, "delete", "web")
	screen.resize(t, 250, 40)
	screen.expect(t, "ConfigMap "+inner+"/theirs")
	screen.expect(t, "[y/N] ")
	screen.enter(t, "n\n")
	expectExit(t, command, screen, exitRefused)
	if err := p.client.Delete(t.Context(), theirs); err != nil {
		t.Fatal(err)
	}
	p.must("delete", "web")
}
