// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

//go:build !darwin && !freebsd && !linux && !netbsd && !openbsd

package display

import "os"

// openControlling finds no controlling terminal on this system.
func openControlling() (*os.File, error) { return nil, errNoTerminal }
