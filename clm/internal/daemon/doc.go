// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package daemon starts a program that outlives the command that starts it. Until the program is ready it reports, over
// an inherited pipe, what it is doing, so that the command can show it, and fail if the program fails.
package daemon
