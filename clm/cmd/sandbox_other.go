// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package cmd

import (
	"os"
	"syscall"
)

// Other systems have neither sessions nor close-on-exec. The sandbox fails there before it needs them.
func ownSession() *syscall.SysProcAttr { return nil }

func closeOnExec(*os.File) {}
