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

// Registration announces this process as the one that runs the sandbox of a kubeconfig path, so that [End] can find it. It ends with
// the process at the latest.
//
// It is a file in the user's cache directory that the process keeps locked. The process number in it counts only if the kernel reports
// the same process as the owner of the lock: the number alone may belong to another process by now.
type Registration struct {
	path string
	file *os.File
}

// record is the content of the file.
type record struct {
	Kubeconfig string `json:"kubeconfig"`
	PID        int    `json:"pid"`
}

// Register fails with [ErrRegistered] if the path is taken. A process that registers must end on SIGTERM.
func Register(kubeconfig string) (*Registration, error) {
	kubeconfig, path, err := recordPath(kubeconfig)
	if err != nil {
		return nil, err
	}
	file, err := lockRecord(path)
	if errors.Is(err, errLocked) {
		return nil, fmt.Errorf("%s: %w", kubeconfig, ErrRegistered)
	}
	if err != nil {
		return nil, err
	}
	registration := &Registration{path: path, file: file}
	content, err := json.Marshal(record{Kubeconfig: kubeconfig, PID: os.Getpid()})
	if err == nil {
		err = errors.Join(file.Truncate(0), writeAt(file, content))
	}
	if err != nil {
		registration.Release()
		return nil, fmt.Errorf("registering the sandbox: %w", err)
	}
	return registration, nil
}

// Release ends the registration.
func (r *Registration) Release() {
	// In this order: while the file is locked, no other process can have replaced it.
	_ = os.Remove(r.path)
	_ = r.file.Close()
}

// Registered returns all kubeconfig paths that processes of this user have registered and not released. Some of these processes may have
// died since; [End] finds out.
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
		found, state, err := inspect(file)
		if err != nil {
			return nil, err
		}
		if state != recordAbsent && found.Kubeconfig != "" {
			paths = append(paths, found.Kubeconfig)
		}
	}
	return paths, nil
}

// End asks the process that has registered the kubeconfig path to end, and returns when it is gone. It returns false if there is no
// such process, and then removes the remains of a crashed one. A process cannot end itself this way.
func End(ctx context.Context, kubeconfig string) (bool, error) {
	kubeconfig, path, err := recordPath(kubeconfig)
	if err != nil {
		return false, err
	}
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	signalled := 0
	for {
		found, state, err := inspect(path)
		if err != nil {
			return false, err
		}
		switch {
		case state == recordAbsent, state == recordLive && signalled != 0 && found.PID != signalled:
			return signalled != 0, nil
		case state == recordStale:
			return signalled != 0, removeStale(path, found)
		case state == recordLive && signalled == 0:
			if signalled, err = signalOwner(path, found); err != nil {
				return false, fmt.Errorf("stopping the sandbox of %s: %w", kubeconfig, err)
			}
		}
		select {
		case <-ctx.Done():
			return false, fmt.Errorf("waiting for the sandbox of %s to stop: %w", kubeconfig, ctx.Err())
		case <-ticker.C:
		}
	}
}

// recordState is the state of a registration.
type recordState int

const (
	recordAbsent recordState = iota
	recordStale              // its process has died without releasing it
	recordBusy               // another process is about to write or remove it
	recordLive               // its process is running
)

// inspect reads a record without touching it.
func inspect(path string) (record, recordState, error) {
	var found record
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return found, recordAbsent, nil
	}
	if err != nil {
		return found, recordAbsent, err
	}
	defer func() { _ = file.Close() }()
	owner, err := lockOwner(file)
	if err != nil {
		return found, recordAbsent, fmt.Errorf("looking for the owner of %s: %w", path, err)
	}
	// An unreadable record is one that a process is writing, or was writing when it died.
	_ = json.NewDecoder(file).Decode(&found)
	switch owner {
	case 0:
		return found, recordStale, nil
	case found.PID:
		return found, recordLive, nil
	default:
		return found, recordBusy, nil
	}
}

// signalOwner sends SIGTERM to the process of the record and returns its number, or 0 if it is no longer the owner.
func signalOwner(path string, found record) (int, error) {
	// Get the handle before checking the record again: on Linux it stays with the process that has the number now.
	process, err := os.FindProcess(found.PID)
	if err != nil {
		return 0, err
	}
	defer func() { _ = process.Release() }()
	again, state, err := inspect(path)
	if err != nil || state != recordLive || again.PID != found.PID {
		return 0, err
	}
	if err := process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return 0, err
	}
	return found.PID, nil
}

// removeStale removes the record and the kubeconfig of a process that died, unless the path has been registered again.
func removeStale(path string, found record) error {
	file, err := lockRecord(path)
	if errors.Is(err, errLocked) {
		return nil
	}
	if err != nil {
		return err
	}
	registration := &Registration{path: path, file: file}
	defer registration.Release()
	if found.Kubeconfig == "" || checkKubeconfig(found.Kubeconfig) != nil {
		return nil
	}
	if err := os.Remove(found.Kubeconfig); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func writeAt(file *os.File, content []byte) error {
	_, err := file.WriteAt(content, 0)
	return err
}

func recordsDir() (string, error) {
	cache, err := CacheDir()
	return filepath.Join(cache, "running"), err
}

// recordPath returns the absolute kubeconfig path and that of its record.
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
