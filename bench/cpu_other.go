// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package main

import "time"

// cpuTime is not known; sandboxes need unix anyway.
func cpuTime() time.Duration { return 0 }
