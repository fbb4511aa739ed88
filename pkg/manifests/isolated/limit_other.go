// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package isolated

import (
	"os"
	"runtime/debug"
)

// executable returns the path of the program, which may be another version if it has been replaced; the fingerprints then differ.
func executable() (string, error) {
	return os.Executable()
}

// limitMemory makes the garbage collector try to keep the limit. There is no portable way to enforce it.
func limitMemory(limit int64) error {
	debug.SetMemoryLimit(limit)
	return nil
}
