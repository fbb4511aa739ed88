// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

// Command guard runs another command in a process group of its own, and ends the whole group as soon as its lifeline
// breaks: file descriptor 3, the read end of a pipe whose only write end is held by the process that started the guard.
// The kernel closes that end however the holder dies, even after kill -9.
//
//	guard [-remove DIR] -- COMMAND [ARG...]
//
// SIGINT, SIGTERM and SIGHUP are passed on to the group. If the guard's own group is the foreground group of the
// terminal on stdin, the command's group replaces it as long as it runs. After killing the rest of the group, the guard
// ends with the exit code of the command, or 128 plus the number of the signal that ended it. If the lifeline broke, it
// deletes the folder given by -remove before that.
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

// Exit codes that shells use for commands that cannot be run or found.
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
	// Without a lifeline, the descriptor may be one of the Go runtime's own.
	if info, err := lifeline.Stat(); err != nil || info.Mode()&os.ModeNamedPipe == 0 {
		fmt.Fprintln(os.Stderr, "guard: there is no lifeline on file descriptor 3")
		return exitNoLifeline
	}
	// After the exec, the descriptor is no longer close-on-exec.
	syscall.CloseOnExec(lifelineFD)

	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	foreground := inForeground()
	if foreground {
		// Handing over the terminal happens from the background, which stops processes that do not ignore this signal.
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
		// Nothing is ever written, so this returns when the last write end is closed.
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

// wait returns the exit code of the command after it has ended. If Ctrl-Z stops the command, the guard hands the
// terminal back and stops its own group, so that the shell notices. When the shell continues the guard, the guard
// continues the command.
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
			// A process with several threads may run for another moment before it stops.
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

// inForeground reports whether the terminal on stdin, if any, belongs to the guard's group.
func inForeground() bool {
	group, err := unix.IoctlGetInt(int(os.Stdin.Fd()), unix.TIOCGPGRP)
	return err == nil && group == syscall.Getpgrp()
}

// setForeground makes the group the foreground group of the terminal: the command's group while it runs, and the
// guard's own when the shell that started the guard expects the terminal back.
func setForeground(group int) {
	_ = unix.IoctlSetPointerInt(int(os.Stdin.Fd()), unix.TIOCSPGRP, group)
}
