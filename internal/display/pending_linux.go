// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package display

import (
	"os"

	"golang.org/x/sys/unix"
)

// discardPending discards input that was typed and not read.
func discardPending(device *os.File) error {
	return unix.IoctlSetInt(int(device.Fd()), unix.TCFLSH, unix.TCIFLUSH)
}
