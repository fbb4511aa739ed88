// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

// Command guard runs another command in a process group of its own and ends that whole group as soon as
// the guard's lifeline breaks: file descriptor 3, the read end of a pipe whose only write end is held by the
// process that started the guard. The kernel closes that end however the holder dies, kill -9 included.
//
//	guard [-remove DIR] -- COMMAND [ARG...]
//
// SIGINT, SIGTERM and SIGHUP are passed on to the group. If the guard's own group is the foreground group of the
// terminal on stdin, the command's group takes its place for as long as it runs. The guard ends with the exit code of
// the command, or 128 plus the number of the signal that ended it, after whatever remained of the group has been killed
// and the folders given by -remove have been deleted.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"
)

// lifelineFD is the descriptor that exec.Cmd gives to the first of its ExtraFiles.
const lifelineFD = 3

// The exit codes that shells use for commands that cannot be run or found.
const (
	exitUsage      = 2
	exitNoLifeline = 125
	exitNotRun     = 126
	exitNotFound   = 127
	exitBySignal   = 128
)

func main() {
	remove := flag.String("remove", "", "folder to delete when the lifeline has broken")
	flag.Parse()
	if flag.NArg() == 0 {
		fmt.Fprintln(os.Stderr, "guard: no command given")
		os.Exit(exitUsage)
	}
	os.Exit(run(flag.Args(), *remove))
}

func run(args []string, remove string) int {
	lifeline := os.NewFile(lifelineFD, "lifeline")
	// Without one, the descriptor may be one of the Go runtime's own.
	if info, err := lifeline.Stat(); err != nil || info.Mode()&os.ModeNamedPipe == 0 {
		fmt.Fprintln(os.Stderr, "guard: there is no lifeline on file descriptor 3")
		return exitNoLifeline
	}
	// The descriptor came through an exec, so that it is not close-on-exec any more.
	syscall.CloseOnExec(lifelineFD)

	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	foreground := inForeground()
	if foreground {
		// Handing the terminal over and back is done from the background, which stops whoever does not ignore this.
		signal.Ignore(syscall.SIGTTOU)
	}

	command := exec.Command(args[0], args[1:]...)
	command.Stdin, command.Stdout, command.Stderr = os.Stdin, os.Stdout, os.Stderr
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Foreground: foreground, Ctty: int(os.Stdin.Fd())}
	if err := command.Start(); err != nil {
		fmt.Fprintln(os.Stderr, "guard:", err)
		if errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist) {
			return exitNotFound
		}
		return exitNotRun
	}

	group := command.Process.Pid
	var broken atomic.Bool
	go func() {
		// Nothing is ever written: this returns when the last write end is closed.
		_, _ = io.Copy(io.Discard, lifeline)
		broken.Store(true)
		_ = syscall.Kill(-group, syscall.SIGKILL)
	}()
	go func() {
		for received := range signals {
			if number, ok := received.(syscall.Signal); ok {
				_ = syscall.Kill(-group, number)
			}
		}
	}()

	code := wait(group, foreground)
	_ = syscall.Kill(-group, syscall.SIGKILL)
	if foreground {
		setForeground(syscall.Getpgrp())
	}
	if broken.Load() && remove != "" {
		_ = os.RemoveAll(remove)
	}
	return code
}

// wait returns the exit code of the command when it has ended. When Ctrl-Z stops it, the guard hands the terminal back
// and stops its own group too, so that the shell notices, and lets the command continue when the shell does so with the
// guard.
func wait(process int, foreground bool) int {
	continued := make(chan os.Signal, 1)
	signal.Notify(continued, syscall.SIGCONT)
	for {
		var status syscall.WaitStatus
		_, err := syscall.Wait4(process, &status, syscall.WUNTRACED, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			fmt.Fprintln(os.Stderr, "guard: waiting for the command:", err)
			return exitNotRun
		case status.Stopped() && foreground:
			setForeground(syscall.Getpgrp())
			select {
			case <-continued: // an old one
			default:
			}
			_ = syscall.Kill(0, syscall.SIGSTOP)
			// A process with several threads may run on for a moment before it stops.
			<-continued
			setForeground(process)
			_ = syscall.Kill(-process, syscall.SIGCONT)
		case status.Signaled():
			return exitBySignal + int(status.Signal())
		case status.Exited():
			return status.ExitStatus()
		}
	}
}

// inForeground tells whether the terminal on stdin, if there is one, belongs to the guard's group.
func inForeground() bool {
	group, err := unix.IoctlGetInt(int(os.Stdin.Fd()), unix.TIOCGPGRP)
	return err == nil && group == syscall.Getpgrp()
}

// setForeground makes the group the foreground group of the terminal: the command's while it runs, and the guard's own
// when the shell that started all of this expects the terminal back.
func setForeground(group int) {
	_ = unix.IoctlSetPointerInt(int(os.Stdin.Fd()), unix.TIOCSPGRP, group)
}
