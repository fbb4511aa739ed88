// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package cmd

import (
	"os"
	"syscall"
)

func ownSession() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// closeOnExec makes the descriptor close on exec. A descriptor inherited from the parent process does not.
func closeOnExec(file *os.File) { syscall.CloseOnExec(int(file.Fd())) }
