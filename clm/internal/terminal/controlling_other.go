// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

//go:build !darwin && !freebsd && !linux && !netbsd && !openbsd

package terminal

import "os"

// openControlling knows no controlling terminals here.
func openControlling() (*os.File, error) { return nil, errNoTerminal }
