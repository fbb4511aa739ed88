// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
)

// reportFD is the descriptor of the pipe in the program: the one that exec.Cmd gives to the first of its ExtraFiles.
const reportFD = 3

// message is what the program reports: exactly one of its fields is set, Kind excepted.
type daemonMessage struct {
	Log   string `json:"log,omitempty"`
	Ready bool   `json:"ready,omitempty"`
	Error string `json:"error,omitempty"`
	Kind  string `json:"kind,omitempty"`
}

// FailureError is the failure that the program has reported.
type FailureError struct {
	// Kind is what the program said to tell this failure from others; often empty.
	Kind    string
	message string
}

func (e *FailureError) Error() string { return e.message }

// Program is what [Launch] starts.
type Program struct {
	// Args are the path of the program and its arguments. It must use a [Reporter].
	Args []string

	// LogPath is the file to which its output is appended.
	LogPath string

	// Progress receives what the program reports until it is ready.
	Progress io.Writer
}

// Launch starts the program in a session of its own, where no terminal reaches it, and returns when it is ready or has
// failed. When the context ends before, the program gets SIGTERM, and Launch returns when it is gone.
func Launch(ctx context.Context, program Program) error {
	read, write, err := os.Pipe()
	if err != nil {
		return err
	}
	defer func() { _ = read.Close() }()
	log, err := os.OpenFile(program.LogPath, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return errors.Join(err, write.Close())
	}
	defer func() { _ = log.Close() }()

	command := exec.Command(program.Args[0], program.Args[1:]...)
	command.Dir = "/"
	command.Stdout, command.Stderr = log, log
	command.ExtraFiles = []*os.File{write}
	command.SysProcAttr = ownSession()
	err = command.Start()
	// Only the program may hold this end, or its death would go unnoticed.
	_ = write.Close()
	if err != nil {
		return fmt.Errorf("starting %s: %w", program.Args[0], err)
	}
	stop := context.AfterFunc(ctx, func() { _ = command.Process.Signal(syscall.SIGTERM) })
	ready, err := followReports(read, program.Progress)
	if !stop() {
		_ = command.Wait()
		return ctx.Err()
	}
	if ready {
		return command.Process.Release()
	}
	_ = command.Wait()
	if err == nil {
		err = fmt.Errorf("it ended without an error message; see %s", program.LogPath)
	}
	return err
}

// follow passes the reports on until the program is ready, has failed, or is gone.
func followReports(reports io.Reader, progress io.Writer) (ready bool, err error) {
	decoder := json.NewDecoder(reports)
	for {
		var report daemonMessage
		if err := decoder.Decode(&report); errors.Is(err, io.EOF) {
			return false, nil
		} else if err != nil {
			return false, fmt.Errorf("reading the reports of the background program: %w", err)
		}
		switch {
		case report.Ready:
			return true, nil
		case report.Error != "":
			return false, &FailureError{Kind: report.Kind, message: report.Error}
		default:
			fmt.Fprint(progress, report.Log)
		}
	}
}
