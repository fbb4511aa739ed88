// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

//go:build darwin || freebsd || netbsd || openbsd

package display

import (
	"os"

	"golang.org/x/sys/unix"
)

// incoming is FREAD of sys/fcntl.h.
const incoming = 1

// discardPending discards input that was typed and not read.
func discardPending(device *os.File) error {
	return unix.IoctlSetPointerInt(int(device.Fd()), unix.TIOCFLUSH, incoming)
}
