// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/component-operator/runtime/clm/cmd"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "reference:", err)
		os.Exit(1)
	}
}

// run writes the pages into the folder that is the only argument. Other pages in it are those of commands that are no more.
func run(args []string) error {
	if len(args) != 1 {
		return errors.New("the argument is missing: the folder for the pages")
	}
	folder := args[0]
	if err := os.MkdirAll(folder, 0o755); err != nil { //nolint:gosec // everybody may read it
		return err
	}
	old, err := filepath.Glob(filepath.Join(folder, "*.md"))
	if err != nil {
		return err
	}
	for _, path := range old {
		if err := os.Remove(path); err != nil {
			return err
		}
	}
	for name, content := range pages(cmd.Command()) {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o644); err != nil { //nolint:gosec // everybody may read it
			return err
		}
	}
	return nil
}
