// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

//go:build darwin || freebsd || linux || netbsd || openbsd

package display

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// openControlling opens the controlling terminal. It refuses a process in the background of the terminal: reading would
// stop that process without a message.
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
		// The terminal has been hung up.
		return nil, errNoTerminal
	}
	return nil, errors.New("clm cannot ask, because it runs in the background of its terminal")
}
