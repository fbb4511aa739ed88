// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// TestSignals ends the command while it runs another program, in each way that a terminal or a supervisor has: nothing
// is left.
func TestSignals(t *testing.T) {
	programs := fakePrograms(t)
	started := filepath.Join(programs, "started")
	script := "#!/bin/sh\ntouch " + started + "\nexec sleep 60\n"
	if err := os.WriteFile(filepath.Join(programs, "go"), []byte(script), 0o700); err != nil { //nolint:gosec // a program must be executable
		t.Fatal(err)
	}
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	for _, signal := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		parent := t.TempDir()
		code := make(chan int, 1)
		go func() {
			code <- run([]string{
				"--group-name=shop.example.org", "--kind=WebShop", "--operator-name=webshop.shop.example.org", "--go-module=example.org/webshop-operator",
				"--runtime-version=v1.0.0", filepath.Join(parent, "project"),
			})
		}()
		for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
			if _, err := os.Stat(started); err == nil {
				break
			}
		}
		remove(t, programs, "started")
		if err := self.Signal(signal); err != nil {
			t.Fatal(err)
		}
		if got := <-code; got != exitInterrupted {
			t.Errorf("%v: got exit code %d", signal, got)
		}
		if entries, err := os.ReadDir(parent); err != nil || len(entries) > 0 {
			t.Errorf("%v: something is left: %v, %v", signal, entries, err)
		}
	}
}
