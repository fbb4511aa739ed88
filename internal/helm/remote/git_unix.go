// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package remote

import (
	"fmt"
	"os/exec"
	"syscall"
)

// confine limits the size of the files that a command writes, and makes it be killed with all its processes: those that
// git starts would go on to fetch. Without a terminal, none of them can ask questions.
func confine(command *exec.Cmd) {
	const block = 512 // bytes; a write beyond the limit fails, because its signal is ignored
	command.Path = "/bin/sh"
	command.Args = append([]string{"sh", "-c", fmt.Sprintf(`trap "" XFSZ; ulimit -f %d; exec "$@"`, (maxUnpacked+entrySize)/block), "sh"}, command.Args...)
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGKILL) }
}
