// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package sandbox_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/sandbox"
)

func TestRun(t *testing.T) {
	t.Parallel()
	s := start(t, sandbox.Options{APIServerOnly: true})

	t.Run("environment, streams and exit code", func(t *testing.T) {
		t.Parallel()
		var stdout, stderr bytes.Buffer
		code, err := s.Run(t.Context(), sandbox.Command{
			Args:   []string{"sh", "-c", `read line; echo "$line $OTHER $KUBECONFIG"; echo oops >&2; exit 7`},
			Env:    []string{"OTHER=value", "KUBECONFIG=/somewhere/else"},
			Stdin:  strings.NewReader("hello\n"),
			Stdout: &stdout, Stderr: &stderr,
		})
		if err != nil || code != 7 {
			t.Errorf("got %d, %v; want exit code 7", code, err)
		}
		if want := "hello value " + s.Kubeconfig() + "\n"; stdout.String() != want || stderr.String() != "oops\n" {
			t.Errorf("got %q and %q, want %q and %q", &stdout, &stderr, want, "oops\n")
		}
	})

	t.Run("no such command", func(t *testing.T) {
		t.Parallel()
		if _, err := s.Run(t.Context(), sandbox.Command{Args: []string{"no-such-command"}}); err == nil {
			t.Error("it ran")
		}
		if _, err := s.Run(t.Context(), sandbox.Command{}); err == nil {
			t.Error("nothing at all ran")
		}
	})

	t.Run("the end of the context asks the command to end, and leaves the sandbox alone", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		ready := filepath.Join(t.TempDir(), "ready")
		type result struct {
			code int
			err  error
		}
		done := make(chan result)
		go func() {
			code, err := s.Run(ctx, sandbox.Command{
				Args: []string{"sh", "-c", `trap "exit 9" TERM; touch ` + ready + `; while :; do sleep 0.01; done`},
			})
			done <- result{code: code, err: err}
		}()
		testenv.Eventually(t, func() (bool, string) {
			_, err := os.Stat(ready)
			return err == nil, "the command has not started"
		})
		cancel()
		if got := <-done; got.err != nil || got.code != 9 {
			t.Errorf("got %d, %v; want the exit code of the signal handler", got.code, got.err)
		}
		if err := s.Failure(); err != nil {
			t.Error(err)
		}
	})
}
