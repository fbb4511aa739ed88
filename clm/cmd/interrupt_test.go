// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"os"
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
