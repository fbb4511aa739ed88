// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package isolated

import (
	"os"
	"runtime/debug"
)

// executable returns the path of the program, which may lead to another version if it has been replaced; fingerprints tell.
func executable() (string, error) {
	return os.Executable()
}

// limitMemory makes that the garbage collector strives for the limit. There is no portable way to enforce it.
func limitMemory(limit int64) error {
	debug.SetMemoryLimit(limit)
	return nil
}
