// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package project

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/tools/txtar"
	"sigs.k8s.io/yaml"
)

// A project has a record of what it was made from, for the next update.
const (
	optionsRecord = ".scaffold/options.yaml"
	filesRecord   = ".scaffold/files.txtar"
)

const optionsComment = `# What this project was made with. "scaffold --update" reads it; flags of that command change it.
`

// addRecord adds the record of the options and of all files.
func addRecord(options *Options, tree Tree) error {
	content, err := yaml.Marshal(options)
	if err != nil {
		return fmt.Errorf("recording the options: %w", err)
	}
	files := recordOf(tree)
	tree[optionsRecord] = append([]byte(optionsComment), content...)
	tree[filesRecord] = files
	return nil
}

// recordOf returns the record of files.
func recordOf(tree Tree) []byte {
	archive := &txtar.Archive{Comment: []byte("The files of this project as scaffold wrote them last. \"scaffold --update\" compares with them.\n")}
	for _, path := range tree.Paths() {
		file := txtar.File{Name: path, Data: tree[path]}
		if !isRecordable(file.Data) {
			file = txtar.File{Name: encodedPrefix + path, Data: append([]byte(base64.StdEncoding.EncodeToString(file.Data)), '\n')}
		}
		archive.Files = append(archive.Files, file)
	}
	return txtar.Format(archive)
}

// encodedPrefix marks a file in the record whose content is encoded, because a txtar archive cannot hold it: it does
// not end with a newline, or has a line that begins a file of an archive.
const encodedPrefix = "base64 "

// isRecordable reports whether a txtar archive can hold content as it is.
func isRecordable(content []byte) bool {
	archive := txtar.Parse(txtar.Format(&txtar.Archive{Files: []txtar.File{{Name: "file", Data: content}}}))
	return len(archive.Files) == 1 && bytes.Equal(archive.Files[0].Data, content)
}

// ReadRecord returns the options that a project was made with, and the files as they were written then.
func ReadRecord(folder string) (*Options, Tree, error) {
	content, err := os.ReadFile(filepath.Join(folder, optionsRecord))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("%s has no %s: it is not a project that scaffold made", folder, optionsRecord)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("reading the options of the project: %w", err)
	}
	options := &Options{}
	if err := yaml.UnmarshalStrict(content, options); err != nil {
		return nil, nil, fmt.Errorf("reading %s: %w", optionsRecord, err)
	}
	archive, err := txtar.ParseFile(filepath.Join(folder, filesRecord))
	if err != nil {
		return nil, nil, fmt.Errorf("reading the files of the project as they were written: %w", err)
	}
	tree := Tree{}
	for _, file := range archive.Files {
		path, encoded := strings.CutPrefix(file.Name, encodedPrefix)
		if encoded {
			if file.Data, err = base64.StdEncoding.DecodeString(string(bytes.TrimSpace(file.Data))); err != nil {
				return nil, nil, fmt.Errorf("reading %s: %s: %w", filesRecord, path, err)
			}
		}
		tree[path] = file.Data
	}
	return options, tree, nil
}
