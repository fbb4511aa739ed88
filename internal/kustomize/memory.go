// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package kustomize

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// Memory is a file system in memory. It must not be changed once it is used for building. The SDK's own file system
// in memory refuses names with blanks and many other characters.
type Memory struct {
	// FileSystem is empty. It has the methods that building does not need.
	filesys.FileSystem

	files   map[string][]byte
	folders map[string]map[string]bool
}

// NewMemory returns a Memory without files.
func NewMemory() *Memory {
	return &Memory{FileSystem: filesys.MakeEmptyDirInMemory(), files: map[string][]byte{}, folders: map[string]map[string]bool{"/": {}}}
}

// Add adds a file, or replaces it. The path is absolute and slash-separated. The content is not copied.
func (m *Memory) Add(name string, content []byte) {
	name = path.Clean(name)
	m.files[name] = content
	for name != "/" {
		folder, base := path.Dir(name), path.Base(name)
		if m.folders[folder] == nil {
			m.folders[folder] = map[string]bool{}
		}
		m.folders[folder][base] = true
		name = folder
	}
}

// Exists reports whether there is a file or folder.
func (m *Memory) Exists(name string) bool {
	_, ok := m.files[absolute(name)]
	return ok || m.IsDir(name)
}

// IsDir reports whether there is a folder.
func (m *Memory) IsDir(name string) bool {
	return m.folders[absolute(name)] != nil
}

// ReadDir returns the names of the files and folders in a folder, sorted.
func (m *Memory) ReadDir(name string) ([]string, error) {
	entries, ok := m.folders[absolute(name)]
	if !ok {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	names := make([]string, 0, len(entries))
	for entry := range entries {
		names = append(names, entry)
	}
	slices.Sort(names)
	return names, nil
}

// ReadFile returns the content of a file, which must not be changed.
func (m *Memory) ReadFile(name string) ([]byte, error) {
	switch content, ok := m.files[absolute(name)]; {
	case ok:
		return content, nil
	case m.IsDir(name):
		return nil, &fs.PathError{Op: "read", Path: name, Err: errors.New("is a directory")}
	default:
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
}

// CleanedAbs returns the folder of a file and its name, or the folder itself.
func (m *Memory) CleanedAbs(name string) (filesys.ConfirmedDir, string, error) {
	cleaned := absolute(name)
	switch {
	case m.IsDir(cleaned):
		return filesys.ConfirmedDir(cleaned), "", nil
	case m.Exists(cleaned):
		return filesys.ConfirmedDir(path.Dir(cleaned)), path.Base(cleaned), nil
	default:
		return "", "", &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
}

func absolute(name string) string {
	if !strings.HasPrefix(name, "/") {
		name = "/" + name
	}
	return path.Clean(name)
}
