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
	files   map[string][]byte
	folders map[string]map[string]bool
	refused map[string]error
}

var _ filesys.FileSystem = &Memory{}

var (
	errReadOnly    = errors.New("the file system is read-only")
	errUnsupported = errors.New("the file system does not support this")
)

// NewMemory returns a Memory without files.
func NewMemory() *Memory {
	return &Memory{files: map[string][]byte{}, folders: map[string]map[string]bool{"/": {}}, refused: map[string]error{}}
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

// Refuse adds a file, or folder, that cannot be read, with the reason. The path is absolute and slash-separated.
func (m *Memory) Refuse(name string, reason error) {
	m.Add(name, nil)
	m.refused[path.Clean(name)] = reason
}

// refusal returns why a file, or a folder that contains it, cannot be read; nil if it can.
func (m *Memory) refusal(name string) error {
	for name = absolute(name); name != "/"; name = path.Dir(name) {
		if reason := m.refused[name]; reason != nil {
			return reason
		}
	}
	return nil
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
	case m.refusal(name) != nil:
		return nil, m.refusal(name)
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
	case m.refusal(cleaned) != nil:
		return "", "", m.refusal(cleaned)
	default:
		return "", "", &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
}

// Glob returns the files and folders that match the pattern, sorted.
func (m *Memory) Glob(pattern string) ([]string, error) {
	var found []string
	for folder, entries := range m.folders {
		for entry := range entries {
			name := path.Join(folder, entry)
			matches, err := path.Match(pattern, name)
			if err != nil {
				return nil, err
			}
			if matches {
				found = append(found, name)
			}
		}
	}
	slices.Sort(found)
	return found, nil
}

func absolute(name string) string {
	if !strings.HasPrefix(name, "/") {
		name = "/" + name
	}
	return path.Clean(name)
}
