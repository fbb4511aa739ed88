// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

// Exit codes beside 0 and 1; the page "clm in a pipeline" says what they mean.
const (
	exitChanges  = 2
	exitNotReady = 3
	exitRefused  = 4
	// exitInterrupted is what shells say of a command that SIGINT has ended.
	exitInterrupted = 130
)
