// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/component-operator/runtime/internal/testenv"
)

func TestInterrupt(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	source := p.gated("1")
	command, output := p.start("apply", "web", source)
	p.reachGate()
	testenv.Eventually(t, func() (bool, string) {
		return strings.Contains(output.String(), "gate: waiting"), output.String()
	})
	if err := command.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = command.Wait()
	if code := command.ProcessState.ExitCode(); code != exitInterrupted {
		t.Errorf("got %s", command.ProcessState)
	}
	for _, want := range []string{"Service " + p.namespace + "/gate: ", "interrupted (2 created", "Nothing is lost: to continue, run the same command again."} {
		if !strings.Contains(output.String(), want) {
			t.Errorf("%q is missing in:\n%s", want, output)
		}
	}
	if p.locked("web") {
		t.Error("the lock was not given back")
	}
	p.expectEnds(value("1"), nil)
	p.expectHistory("Applying")
	p.openGate()
	p.must("apply", "web", source)
	p.expectEnds(value("1"), value("1"))
	p.expectHistory("Ready")

	command, output = p.start("delete", "web")
	if err := command.Wait(); err != nil {
		t.Errorf("%v:\n%s", err, output)
	}
}

// TestInterruptTwice does not let a request be answered, for which the first interrupt waits for some time.
func TestInterruptTwice(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	source := p.gated("1")
	reached, ended := make(chan struct{}), make(chan struct{})
	x := newProxy(t, func(x *proxy) {
		x.before = func(request testenv.Request) bool {
			if !request.IsWrite() || request.Resource != "services" {
				return true
			}
			close(reached)
			<-ended
			return false
		}
	})
	command, output := p.through(x).start("apply", "web", source)
	<-reached
	waited := make(chan error, 1)
	go func() { waited <- command.Wait() }()
	// The second one counts when the first one was heard.
	testenv.Eventually(t, func() (bool, string) {
		_ = command.Process.Signal(os.Interrupt)
		return len(waited) > 0, output.String()
	})
	close(ended)
	<-waited
	if state, _ := command.ProcessState.Sys().(syscall.WaitStatus); !state.Signaled() || state.Signal() != syscall.SIGINT {
		t.Errorf("want the process to be ended by the signal, got %s:\n%s", command.ProcessState, output)
	}
	p.expectEnds(value("1"), nil)
	opened := p.background(t.Context(), "apply", "web", source)
	p.reachGate()
	p.openGate()
	if got := <-opened; got.code != 0 {
		t.Errorf("exit code %d:\n%s", got.code, got.stderr)
	}
	p.expectEnds(value("1"), value("1"))
	p.expectHistory("Ready")
}

// TestHangUp runs clm as nohup does: a signal that it is to ignore does not end it, and others do.
func TestHangUp(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	for _, test := range []struct {
		reason, setting string
		want            int
	}{
		{"it is to be ignored", `trap "" HUP INT; exec "$0" "$@"`, 0},
		{"it is not", `exec "$0" "$@"`, exitInterrupted},
	} {
		clm := p.command("wait", "web", "--for=ready")
		output := &testenv.Output{}
		command := exec.Command("sh", append([]string{"-c", test.setting}, clm.Args...)...)
		command.Env, command.Stderr = clm.Env, output
		if err := command.Start(); err != nil {
			t.Fatal(err)
		}
		testenv.Eventually(t, func() (bool, string) {
			return strings.Contains(output.String(), "waiting until the release exists"), output.String()
		})
		if err := command.Process.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		if test.want == 0 {
			p.must("apply", "web", p.file("app.yaml", configMap("one", "1")))
		}
		_ = command.Wait()
		if code := command.ProcessState.ExitCode(); code != test.want {
			t.Errorf("%s: want exit code %d, got %d:\n%s", test.reason, test.want, code, output)
		}
		if test.want == 0 {
			p.must("delete", "web", "-y")
		}
	}
}

// TestClosedOutput has the reader of what clm prints go away, of which the system tells by a signal that ends a process.
func TestClosedOutput(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	source := p.file("app.yaml", configMap("one", "1"))
	for _, args := range [][]string{{"apply", "web", source}, {"delete", "web", "-o", "json"}} {
		reader, writer, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		command := p.command(args...)
		command.Stdout, command.Stderr = writer, writer
		_ = reader.Close()
		if err := command.Run(); err != nil {
			t.Errorf("%s: %v", args[0], err)
		}
		_ = writer.Close()
		if p.locked("web") {
			t.Errorf("%s: the lock was not given back", args[0])
		}
	}
	if values := p.configMap("one"); values != nil {
		t.Errorf("got %v, want that it was deleted", values)
	}
}

// TestInterruptBeforeTheServerAnswers has a server that accepts connections and says nothing, as behind a tunnel that is down.
func TestInterruptBeforeTheServerAnswers(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	source := p.file("app.yaml", configMap("a", "1"))
	for _, args := range [][]string{{"apply", "web", source}, {"ls"}} {
		asked, silence := make(chan struct{}, 100), make(chan struct{})
		x := newProxy(t, func(x *proxy) {
			x.before = func(testenv.Request) bool {
				asked <- struct{}{}
				<-silence
				return false
			}
		})
		ctx, interrupt := context.WithCancel(t.Context())
		ended := p.through(x).background(ctx, args...)
		<-asked
		interrupt()
		p.expect(<-ended, exitInterrupted, "interrupted")
		close(silence)
	}
}
