// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package sandbox

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"
)

// lockFile always fails. All entry points call it first, so sandboxes cannot be used on this system.
func lockFile(string) (*os.File, error) {
	return nil, fmt.Errorf("sandboxes on %s: %w", runtime.GOOS, errors.ErrUnsupported)
}

func unlock(*os.File) {}

func ownGroup() *syscall.SysProcAttr { return nil }
