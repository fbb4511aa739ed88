// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Command scaffold creates the project of a new operator, and updates it. Its flags become options of the project.
// Results go to stdout, everything else to stderr.
package main

import "os"

func main() {
	os.Exit(run(os.Args[1:]))
}
