// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package kustomize

import (
	"path/filepath"

	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// These methods are part of the SDK's interface, but not needed for building.

// Create fails.
func (m *Memory) Create(string) (filesys.File, error) { return nil, errReadOnly }

// Mkdir fails.
func (m *Memory) Mkdir(string) error { return errReadOnly }

// MkdirAll fails.
func (m *Memory) MkdirAll(string) error { return errReadOnly }

// RemoveAll fails.
func (m *Memory) RemoveAll(string) error { return errReadOnly }

// WriteFile fails.
func (m *Memory) WriteFile(string, []byte) error { return errReadOnly }

// Open fails; ReadFile does not.
func (m *Memory) Open(string) (filesys.File, error) { return nil, errUnsupported }

// Walk fails; ReadDir does not.
func (m *Memory) Walk(string, filepath.WalkFunc) error { return errUnsupported }
