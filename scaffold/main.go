// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Command scaffold writes the project of a new operator, and keeps it up to date. Its flags become options of a
// project. Results go to stdout, all else to stderr.
package main

import "os"

func main() {
	os.Exit(run(os.Args[1:]))
}
