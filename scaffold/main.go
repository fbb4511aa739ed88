// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Command scaffold writes the project of a new operator, and keeps it up to date. See package scaffold/cmd.
package main

import (
	"os"

	"github.com/component-operator/runtime/scaffold/cmd"
)

func main() {
	os.Exit(cmd.Main(os.Args[1:]))
}
