// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/term"
)

// termGrace is how long a command may take to end after SIGTERM.
const termGrace = 10 * time.Second

// Command is a command for [Sandbox.Run].
type Command struct {
	// Args are the command and its arguments; the command is looked up on the PATH of this process.
	Args []string

	// Env is the environment, to which KUBECONFIG is added. Defaults to that of this process.
	Env []string

	// Stdin, Stdout and Stderr default to an empty input and discarded output. If Stdin is the terminal and this
	// process is in the foreground there, the command is in the foreground while it runs, and Ctrl-C reaches it alone.
	Stdin          io.Reader
	Stdout, Stderr io.Writer
}

// Run runs a command in a process group of its own with KUBECONFIG set, and returns its exit code, or 128 plus the
// number of the signal that ended it. When the command has ended, Run kills the processes that are left in its group.
//
// When the context is done or the sandbox fails, Run sends SIGTERM to the group, and kills it if the command does not
// end within ten seconds. If this process dies, the group is killed at once. Run returns an error if the command could
// not be run or the sandbox has failed.
func (s *Sandbox) Run(ctx context.Context, command Command) (int, error) {
	if len(command.Args) == 0 {
		return 0, errors.New("no command is given")
	}
	path, err := exec.LookPath(command.Args[0])
	if err != nil {
		return 0, err
	}
	// A separate lifeline can end the command without ending the sandbox.
	line, err := newLifeline()
	if err != nil {
		return 0, err
	}
	defer line.close()
	guard := line.guarded(s.programs[programGuard], "", append([]string{path}, command.Args[1:]...))
	guard.Stdin, guard.Stdout, guard.Stderr = command.Stdin, command.Stdout, command.Stderr
	guard.Env = command.Env
	if guard.Env == nil {
		guard.Env = os.Environ()
	}
	guard.Env = append(guard.Env[:len(guard.Env):len(guard.Env)], "KUBECONFIG="+s.kubeconfig)
	if file, ok := command.Stdin.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
		// Only a guard in the foreground can hand the terminal over.
		guard.SysProcAttr = nil
	}
	if err := guard.Start(); err != nil {
		return 0, fmt.Errorf("running %s: %w", command.Args[0], err)
	}
	done := make(chan error, 1)
	go func() { done <- guard.Wait() }()

	select {
	case err = <-done:
	case <-ctx.Done():
		err = terminate(guard.Process, line, done)
	case <-s.failed:
		_ = terminate(guard.Process, line, done)
		return 0, s.failure
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return 0, fmt.Errorf("running %s: %w", command.Args[0], err)
	}
	if code := guard.ProcessState.ExitCode(); code >= 0 {
		return code, nil
	}
	return 0, fmt.Errorf("running %s: its guard exited: %w", command.Args[0], err)
}

// terminate asks the guarded command to end, and kills it after termGrace.
func terminate(guard *os.Process, line *lifeline, done <-chan error) error {
	_ = guard.Signal(syscall.SIGTERM)
	timer := time.NewTimer(termGrace)
	defer timer.Stop()
	select {
	case err := <-done:
		return err
	case <-timer.C:
		line.close()
		return <-done
	}
}
