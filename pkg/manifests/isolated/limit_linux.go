// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package isolated

import (
	"bytes"
	"fmt"
	"os"
	"runtime/debug"
	"strconv"
	"syscall"
)

// executable names the running program even if its file has been replaced or deleted in the meantime.
func executable() (string, error) {
	return "/proc/self/exe", nil
}

// limitMemory makes the process fail when it takes that many bytes more than now. The garbage collector works
// harder before that.
func limitMemory(limit int64) error {
	debug.SetMemoryLimit(limit)
	taken, err := dataSize()
	if err != nil {
		return err
	}
	// This counts private writable memory, not the address space, of which the Go runtime reserves much more than
	// it ever uses.
	most := uint64(taken + limit)
	return syscall.Setrlimit(syscall.RLIMIT_DATA, &syscall.Rlimit{Cur: most, Max: most})
}

// dataSize returns how many bytes of RLIMIT_DATA are taken.
func dataSize() (int64, error) {
	const file, key = "/proc/self/status", "VmData:"
	status, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	for line := range bytes.Lines(status) {
		rest, ok := bytes.CutPrefix(line, []byte(key))
		if !ok {
			continue
		}
		kilobytes, err := strconv.ParseInt(string(bytes.TrimSpace(bytes.TrimSuffix(bytes.TrimSpace(rest), []byte("kB")))), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("reading %s of %s: %w", key, file, err)
		}
		return kilobytes << 10, nil
	}
	return 0, fmt.Errorf("%s lacks the line that begins with %s", file, key)
}
