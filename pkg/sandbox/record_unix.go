// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package sandbox

import (
	"errors"
	"io"
	"os"
	"syscall"
)

// lockRecord creates the file if need be and locks it until it is closed or the process ends. Unlike that of lockFile, this lock belongs to
// the process, and the kernel tells others which process that is. If another process has it, the error is errLocked.
func lockRecord(path string) (*os.File, error) {
	for {
		file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return nil, err
		}
		err = syscall.FcntlFlock(file.Fd(), syscall.F_SETLK, wholeFile())
		if errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EACCES) {
			err = errLocked
		}
		if err != nil {
			_ = file.Close()
			return nil, err
		}
		if isAt(file, path) {
			return file, nil
		}
		// Another process has removed the file between opening and locking it.
		_ = file.Close()
	}
}

// lockOwner returns the number of the process that has locked the record, 0 if none has.
func lockOwner(file *os.File) (int, error) {
	lock := wholeFile()
	if err := syscall.FcntlFlock(file.Fd(), syscall.F_GETLK, lock); err != nil {
		return 0, err
	}
	if lock.Type == syscall.F_UNLCK {
		return 0, nil
	}
	return int(lock.Pid), nil
}

func wholeFile() *syscall.Flock_t {
	return &syscall.Flock_t{Type: syscall.F_WRLCK, Whence: io.SeekStart}
}

func isAt(file *os.File, path string) bool {
	opened, err := file.Stat()
	if err != nil {
		return false
	}
	present, err := os.Stat(path)
	return err == nil && os.SameFile(opened, present)
}
