// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

var (
	packageClause = regexp.MustCompile(`(?m)^package (\w+?)(?:_test)?$`)
	testFunction  = regexp.MustCompile(`(?m)^func (Test\w+)\(`)
)

// writeFiles writes the paths of the files and folders of the repository, and where each test is, to which pages may
// link.
func writeFiles(root, folder string) error {
	listing, err := exec.Command("git", "-C", root, "ls-files").Output()
	if err != nil {
		return fmt.Errorf("listing the files of the repository: %w", err)
	}
	files, tests := map[string]bool{}, map[string]string{}
	for path := range strings.Lines(string(listing)) {
		path = strings.TrimSpace(path)
		if strings.HasSuffix(path, "_test.go") {
			if err := addTests(tests, root, path); err != nil {
				return err
			}
		}
		for path != "" {
			files[path] = true
			path = path[:max(0, strings.LastIndexByte(path, '/'))]
		}
	}
	return errors.Join(writeJSON(filepath.Join(folder, "files.json"), files), writeJSON(filepath.Join(folder, "tests.json"), tests))
}

// addTests adds the tests of a file, with their packages and lines.
func addTests(tests map[string]string, root, path string) error {
	content, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		return err
	}
	clause := packageClause.FindSubmatch(content)
	if clause == nil {
		return nil // a file of test data
	}
	for _, match := range testFunction.FindAllSubmatchIndex(content, -1) {
		name := fmt.Sprintf("%s.%s", clause[1], content[match[2]:match[3]])
		tests[name] = fmt.Sprintf("%s#L%d", path, 1+bytes.Count(content[:match[0]], []byte("\n")))
	}
	return nil
}

func writeJSON(target string, value any) error {
	content, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return write(target, content)
}
