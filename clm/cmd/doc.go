// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package cmd holds the commands of clm. Each consists of a constructor, which declares flags, and functions that do the
// work with the options that the flags filled in. Results go to stdout, everything else to stderr.
package cmd
