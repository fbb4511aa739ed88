// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package cmd is the command line of scaffold: flags become options of a project, and results are shown. Results go to
// stdout, all else to stderr.
package cmd
