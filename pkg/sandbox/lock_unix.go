// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package sandbox

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// lockFile creates the file if necessary and locks it until it is closed or the process ends. It does not wait: if the
// file is already locked, the error is errLocked.
func lockFile(path string) (*os.File, error) {
	for {
		file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return nil, err
		}
		if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
			_ = file.Close()
			if errors.Is(err, syscall.EWOULDBLOCK) {
				return nil, errLocked
			}
			return nil, fmt.Errorf("locking %s: %w", path, err)
		}
		if isAt(file, path) {
			return file, nil
		}
		// Another process has removed the file between opening and locking it.
		_ = file.Close()
	}
}

// unlock releases the lock and closes the file. Closing alone would not release it while a process that is just being
// started has a copy of the descriptor.
func unlock(file *os.File) {
	_ = syscall.Flock(int(file.Fd()), syscall.LOCK_UN)
	_ = file.Close()
}

// ownGroup protects a guard from signals that the terminal sends to this process and its group.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}

func isAt(file *os.File, path string) bool {
	opened, err := file.Stat()
	if err != nil {
		return false
	}
	present, err := os.Stat(path)
	return err == nil && os.SameFile(opened, present)
}
