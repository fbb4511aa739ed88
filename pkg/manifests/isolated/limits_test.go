// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package isolated_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/component-operator/runtime/pkg/manifests/isolated"
	"github.com/component-operator/runtime/pkg/types"
)

// TestEndlessTemplate: what cannot be interrupted is killed.
func TestEndlessTemplate(t *testing.T) {
	t.Parallel()
	_, err := newGenerator(t, "chart", isolated.Options{Timeout: soon}).
		Generate(surroundings(t.Context(), component()), "ns", "web", types.UnstructurableMap{"mischief": "loop"})
	expectError(t, err, "rendering in a process of its own: it was killed, because it took longer than 500ms")
}

// TestEndOfTheContext: the process is gone when Generate returns.
func TestEndOfTheContext(t *testing.T) {
	t.Parallel()
	events := newEvents(t)
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error)
	go func() {
		_, err := newGenerator(t, "own", isolated.Options{}).Generate(ctx, "", "", types.UnstructurableMap{"do": "loop", "text": events.path})
		failed <- err
	}()
	events.expect(t, "started\n")
	cancel()
	if err := <-failed; !errors.Is(err, context.Canceled) {
		t.Errorf("got error %v", err)
	}
	events.expectEnd(t)
}

// TestMemory: only the generator that uses too much memory fails.
func TestMemory(t *testing.T) {
	t.Parallel()
	generator := newGenerator(t, "chart", isolated.Options{Memory: 128 << 20})
	ctx := surroundings(t.Context(), component())
	_, err := generator.Generate(ctx, "ns", "web", types.UnstructurableMap{"mischief": "bomb"})
	expectError(t, err, "rendering in a process of its own: it failed, because it needed more memory than 128 MiB")
	if _, err := generator.Generate(ctx, "ns", "web", types.UnstructurableMap{"mischief": ""}); err != nil {
		t.Errorf("a rendering that needs little: %v", err)
	}
}

// TestLeastMemory: the limit leaves enough for the libraries.
func TestLeastMemory(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"chart", "kustomization"} {
		generator := newGenerator(t, name, isolated.Options{Memory: 64 << 20})
		if _, err := generator.Generate(surroundings(t.Context(), component()), "ns", "web", types.UnstructurableMap{"mischief": ""}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestDeathOfTheOperator: the process ends by itself when the operator is gone.
func TestDeathOfTheOperator(t *testing.T) {
	t.Parallel()
	events := newEvents(t)
	operator := exec.Command(os.Args[0])
	operator.Env = append(os.Environ(), roleVariable+"="+roleOperator, eventsVariable+"="+events.path)
	operator.Stderr = os.Stderr
	if err := operator.Start(); err != nil {
		t.Fatal(err)
	}
	events.expect(t, "started\n")
	if err := operator.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = operator.Wait()
	events.expectEnd(t)
}

// TestMarkerWithoutOperator: setting the variable by accident is an error, and does not start a second operator.
func TestMarkerWithoutOperator(t *testing.T) {
	t.Parallel()
	command := exec.Command(os.Args[0])
	command.Env = append(os.Environ(), "COMPONENT_OPERATOR_ISOLATED_GENERATOR=own")
	output, err := command.CombinedOutput()
	if err == nil {
		t.Error("the program has succeeded")
	}
	expectError(t, errors.New(string(output)), "COMPONENT_OPERATOR_ISOLATED_GENERATOR is set, but this process was not started by an isolated generator")
}

const (
	roleVariable   = "ISOLATED_TEST_ROLE"
	roleOperator   = "operator"
	eventsVariable = "ISOLATED_TEST_EVENTS"
)

// playOperator renders something that does not end.
func playOperator() {
	generator, err := program.NewGenerator("own", isolated.Options{})
	if err == nil {
		_, err = generator.Generate(context.Background(), "", "", types.UnstructurableMap{"do": "loop", "text": os.Getenv(eventsVariable)})
	}
	fmt.Fprintln(os.Stderr, "operator:", err)
}

// events is a named pipe; its end is reached when all processes that have opened it for writing are gone.
type events struct {
	path   string
	reader *bufio.Reader
	opened chan struct{}
}

func newEvents(t *testing.T) *events {
	t.Helper()
	e := &events{path: filepath.Join(t.TempDir(), "events"), opened: make(chan struct{})}
	if err := syscall.Mkfifo(e.path, 0o600); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(e.opened)
		// It waits for a writer.
		pipe, err := os.Open(e.path)
		if err != nil {
			t.Error(err)
			return
		}
		e.reader = bufio.NewReader(pipe)
	}()
	return e
}

func (e *events) expect(t *testing.T, want string) {
	t.Helper()
	<-e.opened
	if got, err := e.reader.ReadString('\n'); got != want {
		t.Fatalf("got %q, error %v", got, err)
	}
}

func (e *events) expectEnd(t *testing.T) {
	t.Helper()
	if rest, err := io.ReadAll(e.reader); err != nil || len(rest) > 0 {
		t.Errorf("got %q, error %v", rest, err)
	}
}
