// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package cmd

import (
	"os"
	"syscall"
)

// There is neither on other systems; nothing that needs it gets this far there.
func ownSession() *syscall.SysProcAttr { return nil }

func closeOnExec(*os.File) {}
