// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package display

import (
	"os"

	"golang.org/x/sys/windows"
)

// discardPending discards input that was typed and not read.
func discardPending(device *os.File) error {
	return windows.FlushConsoleInputBuffer(windows.Handle(device.Fd()))
}
