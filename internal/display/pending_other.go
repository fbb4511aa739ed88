// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

//go:build !darwin && !freebsd && !linux && !netbsd && !openbsd && !windows

package display

import "os"

// discardPending does nothing: pending input cannot be discarded on this system.
func discardPending(*os.File) error { return nil }
