// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Generate writes the pages and pictures of the site that are made from other files of the repository.
//
//	go run ./generate [ROOT [FOLDER]]
//
// ROOT is the repository, by default "..". FOLDER is emptied and written, by default "build".
package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) > 2 {
		return fmt.Errorf("%d arguments: want at most the repository and the folder to write", len(args))
	}
	args = append(args, "", "")
	root, folder := cmp.Or(args[0], ".."), cmp.Or(args[1], "build")
	if err := os.RemoveAll(folder); err != nil {
		return err
	}
	return errors.Join(
		writePackages(filepath.Join(root, "pkg"), filepath.Join(folder, "content/reference/go")),
		writeDemo("data/demo.txt", "data/demo.timing", filepath.Join(folder, "assets/img/demo.svg")),
		writeCharts("content/reference/performance.md", filepath.Join(folder, "assets/img")),
		writeFiles(root, filepath.Join(folder, "data")),
	)
}

// write writes a file, and creates its folder.
func write(path string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return err
	}
	return os.WriteFile(path, content, 0o600)
}
