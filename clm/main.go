// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Command clm is the command line around component operators. "clm help" says what it can do.
package main

import (
	"os"

	"github.com/component-operator/runtime/clm/cmd"
)

func main() {
	os.Exit(cmd.Main(os.Args))
}
