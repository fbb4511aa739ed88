// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package main

import "time"

// processorTime is unknown; sandboxes need Unix anyway.
func processorTime() time.Duration { return 0 }
