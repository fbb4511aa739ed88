// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package processor

import (
	"fmt"
	"os"
	"strings"
)

// PeakMemory returns the largest resident set, in bytes, that a process has had since it began to run its program; zero if it has ended. What the system reports
// of an ended process includes the memory of the process that started it.
func PeakMemory(pid int) int64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	_, after, _ := strings.Cut(string(status), "VmHWM:")
	var kibibytes int64
	if _, err := fmt.Sscan(after, &kibibytes); err != nil {
		return 0
	}
	return kibibytes << 10
}
