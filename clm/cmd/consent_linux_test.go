// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/component-operator/runtime/internal/testenv"
)

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
