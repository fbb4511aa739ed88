// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package releases

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// processAnnotation has the process that has a lock, so that others on the same machine see at once whether it still lives.
const processAnnotation = ReconcilerName + "/process"

// thisMachine tells machines apart, the times between two boots, and containers, of which each has process ids of its own. It is empty
// where that is not known.
func thisMachine() string {
	host, err := os.Hostname()
	if err != nil {
		return ""
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	container, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return ""
	}
	// The files may be those of another container.
	if self, err := os.Readlink("/proc/self"); err != nil || self != strconv.Itoa(os.Getpid()) {
		return ""
	}
	return strings.Join([]string{host, strings.TrimSpace(string(boot)), container}, "/")
}

// processText names a process of this machine for isDead; it is empty if the process cannot be identified.
func processText(pid int) string {
	machine := thisMachine()
	_, started, err := look(pid)
	if machine == "" || err != nil {
		return ""
	}
	return fmt.Sprintf("%s/%d/%s", machine, pid, started)
}

// isDead reports whether a process, named by processText, has certainly ended. Of processes on other machines nothing is certain.
func isDead(text string) bool {
	machine := thisMachine()
	rest, same := strings.CutPrefix(text, machine+"/")
	if machine == "" || !same {
		return false
	}
	number, started, _ := strings.Cut(rest, "/")
	pid, err := strconv.Atoi(number)
	if err != nil || pid <= 0 || started == "" {
		return false
	}
	ended, found, err := look(pid)
	if err == nil {
		// Ids are given to other processes in the course of time.
		return ended || found != started
	}
	// The files of processes of other users may be hidden.
	process, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	defer func() { _ = process.Release() }()
	return errors.Is(process.Signal(syscall.Signal(0)), os.ErrProcessDone)
}

// look reads when a process was started, in units of the kernel, and whether all that is left of it is its exit code.
func look(pid int) (ended bool, started string, err error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false, "", err
	}
	// The second field, the name in parentheses, may have any characters.
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	const state, start = 0, 19
	if len(fields) <= start {
		return false, "", fmt.Errorf("process %d: unexpected format of its description", pid)
	}
	return fields[state] == "Z" || fields[state] == "X", fields[start], nil
}
