// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// ErrRegistered means that a running process has registered the same kubeconfig path.
var ErrRegistered = errors.New("a sandbox with this kubeconfig path is already running or starting")

// errLocked means that another process, or another lock of this one, holds the file.
var errLocked = errors.New("locked by another process")

// Registration announces this process as the one that runs the sandbox with a kubeconfig path, so that [End] can find
// it. It ends with the process at the latest.
//
// It is a file in the user's cache directory that the process keeps locked. The process ID in it is valid only while
// the file is locked: afterwards, another process may have the same ID.
type Registration struct {
	path string
	file *os.File
}

// record is the content of the file.
type record struct {
	Kubeconfig string `json:"kubeconfig"`
	PID        int    `json:"pid"`
}

// Register returns [ErrRegistered] if the path is taken. A process that registers must end on SIGTERM.
func Register(kubeconfig string) (*Registration, error) {
	kubeconfig, path, err := recordPath(kubeconfig)
	if err != nil {
		return nil, err
	}
	file, err := lockFile(path)
	if errors.Is(err, errLocked) {
		return nil, fmt.Errorf("%s: %w", kubeconfig, ErrRegistered)
	}
	if err != nil {
		return nil, err
	}
	registration := &Registration{path: path, file: file}
	content, err := json.Marshal(record{Kubeconfig: kubeconfig, PID: os.Getpid()})
	if err == nil {
		err = file.Truncate(0)
	}
	if err == nil {
		_, err = file.WriteAt(content, 0)
	}
	if err != nil {
		registration.Release()
		return nil, fmt.Errorf("registering the sandbox: %w", err)
	}
	return registration, nil
}

// Release ends the registration.
func (r *Registration) Release() {
	// The order matters: while the file is locked, no other process can have replaced it.
	_ = os.Remove(r.path)
	unlock(r.file)
}

// Registered returns all kubeconfig paths that processes of this user have registered and not released. Some of these
// processes may have died since; [End] checks that.
func Registered() ([]string, error) {
	dir, err := recordsDir()
	if err != nil {
		return nil, err
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, file := range files {
		if found := readRecord(file); found.Kubeconfig != "" {
			paths = append(paths, found.Kubeconfig)
		}
	}
	return paths, nil
}

// End asks the process that has registered the kubeconfig path to end, and returns when it is gone. If there is no such
// process, it removes the remains of a crashed one and returns false. A process cannot end itself this way.
func End(ctx context.Context, kubeconfig string) (bool, error) {
	kubeconfig, path, err := recordPath(kubeconfig)
	if err != nil {
		return false, err
	}
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	signalled := 0
	for {
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return signalled != 0, nil
		}
		file, err := lockFile(path)
		if err == nil {
			// Its process has ended without releasing it.
			err = removeStale(readRecord(path))
			(&Registration{path: path, file: file}).Release()
			return signalled != 0, err
		}
		if !errors.Is(err, errLocked) {
			return false, err
		}
		switch found := readRecord(path); {
		case signalled != 0 && found.PID != 0 && found.PID != signalled:
			return true, nil // another process has registered the path since
		case signalled == 0 && found.PID != 0:
			if err := askToEnd(found.PID); err != nil {
				return false, fmt.Errorf("stopping the sandbox of %s: %w", kubeconfig, err)
			}
			signalled = found.PID
		}
		select {
		case <-ctx.Done():
			return false, fmt.Errorf("waiting for the sandbox of %s to stop: %w", kubeconfig, ctx.Err())
		case <-ticker.C:
		}
	}
}

// askToEnd sends SIGTERM to a process, which may have ended already.
func askToEnd(pid int) error {
	process, err := os.FindProcess(pid)
	if err == nil {
		err = process.Signal(syscall.SIGTERM)
	}
	if errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	return err
}

// readRecord returns the content of a record; empty if a process is writing it, or died while writing.
func readRecord(path string) record {
	var found record
	if content, err := os.ReadFile(path); err == nil && json.Unmarshal(content, &found) != nil {
		return record{}
	}
	return found
}

// removeStale removes the kubeconfig of a dead process.
func removeStale(found record) error {
	if found.Kubeconfig == "" || checkKubeconfig(found.Kubeconfig) != nil {
		return nil
	}
	if err := os.Remove(found.Kubeconfig); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func recordsDir() (string, error) {
	cache, err := CacheDir()
	return filepath.Join(cache, "running"), err
}

// recordPath returns the absolute kubeconfig path and the path of its record.
func recordPath(kubeconfig string) (absolute, path string, err error) {
	absolute, err = filepath.Abs(kubeconfig)
	if err != nil {
		return "", "", err
	}
	dir, err := recordsDir()
	if err != nil {
		return "", "", err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", "", err
	}
	hash := sha256.Sum256([]byte(absolute))
	return absolute, filepath.Join(dir, hex.EncodeToString(hash[:8])+".json"), nil
}
