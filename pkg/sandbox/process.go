// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// logTail is the number of log lines shown of a failed program.
const logTail = 20

// lifeline is a pipe that is never written to. Guards hold the read end, and only this process holds the write end.
// When it is closed, by close or by the death of this process, the guards end their programs.
type lifeline struct {
	read, write *os.File
}

func newLifeline() (*lifeline, error) {
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	return &lifeline{read: read, write: write}, nil
}

func (l *lifeline) close() {
	_ = l.write.Close()
	_ = l.read.Close()
}

// guarded returns the command that runs args below the guard. When the lifeline breaks, the guard removes the given
// folder, if any.
func (l *lifeline) guarded(guard, remove string, args []string) *exec.Cmd {
	command := exec.Command(guard, append([]string{"-remove", remove, "--"}, args...)...)
	command.ExtraFiles = []*os.File{l.read}
	command.SysProcAttr = ownGroup()
	return command
}

// process is a running program of the sandbox.
type process struct {
	name    string
	logPath string
	done    chan struct{} // closed after the program has ended
	err     error         // how it ended; to be read after done
}

// startProcess runs the command with its output appended to the log file.
func startProcess(command *exec.Cmd, name, logPath string) (*process, error) {
	log, err := os.OpenFile(logPath, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }()
	command.Stdout, command.Stderr = log, log
	command.Dir = filepath.Dir(logPath)
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", name, err)
	}
	p := &process{name: name, logPath: logPath, done: make(chan struct{})}
	go func() {
		p.err = command.Wait()
		close(p.done)
	}()
	return p, nil
}

// wait returns when the program has ended or the context is done.
func (p *process) wait(ctx context.Context) error {
	select {
	case <-p.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("waiting for %s to exit: %w", p.name, ctx.Err())
	}
}

func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// failure describes an unexpected end, with the last lines of the program's log.
func (p *process) failure() error {
	how := "exit status 0"
	if p.err != nil {
		how = p.err.Error()
	}
	return fmt.Errorf("%s exited: %s; the end of its log:\n%s", p.name, how, p.tail())
}

// tail returns the last lines of the log, indented.
func (p *process) tail() string {
	file, err := os.Open(p.logPath)
	if err != nil {
		return "  (" + err.Error() + ")"
	}
	defer func() { _ = file.Close() }()
	var lines []string
	scanner := bufio.NewScanner(file)
	scanner.Buffer(nil, 1<<20)
	for scanner.Scan() {
		lines = append(lines, "  "+scanner.Text())
		if len(lines) > 2*logTail {
			lines = slices.Delete(lines, 0, logTail)
		}
	}
	return strings.Join(lines[max(0, len(lines)-logTail):], "\n")
}
