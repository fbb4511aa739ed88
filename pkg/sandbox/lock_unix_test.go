// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package sandbox

import (
	"path/filepath"
	"syscall"
	"testing"
)

// A process that is just being started has copies of all descriptors.
func TestUnlockDespiteCopies(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	file, err := lockFile(path)
	if err != nil {
		t.Fatal(err)
	}
	duplicate, err := syscall.Dup(int(file.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Close(duplicate) }()
	unlock(file)
	again, err := lockFile(path)
	if err != nil {
		t.Fatalf("an unlocked file cannot be locked again: %v", err)
	}
	unlock(again)
}
