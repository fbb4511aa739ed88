// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

//go:build darwin || freebsd || linux || netbsd || openbsd

package terminal

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// openControlling opens the controlling terminal. In the background of a terminal, whoever reads from it is stopped until it comes to the foreground,
// which nobody would understand.
func openControlling() (*os.File, error) {
	device, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return nil, errNoTerminal
	}
	foreground, err := unix.IoctlGetInt(int(device.Fd()), unix.TIOCGPGRP)
	if err == nil && foreground == unix.Getpgrp() {
		return device, nil
	}
	_ = device.Close()
	if err != nil {
		// It has been hung up.
		return nil, errNoTerminal
	}
	return nil, errors.New("nobody can be asked, because this process runs in the background of its terminal")
}
