// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"encoding/base64"
	"os"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestLoginOnATerminal types user name and password. The password is not shown, and the terminal is afterwards as it
// was, also after an interrupt.
//
//nolint:paralleltest // Helm is told by environment variables where its files are
func TestLoginOnATerminal(t *testing.T) {
	h, r := newHelmHome(t), newSecureRegistry(t)
	p := &place{T: t, kubeconfig: os.DevNull, namespace: "default"}
	for _, password := range []string{"secret\n", "\x03"} {
		screen, device := newTerminal(t)
		copied, err := syscall.Dup(int(device.Fd()))
		if err != nil {
			t.Fatal(err)
		}
		defer syscall.Close(copied)
		before, err := unix.IoctlGetTermios(copied, unix.TCGETS)
		if err != nil {
			t.Fatal(err)
		}
		command := p.startOn(t, device, nil, "registry", "login", r.host, "--ca-file", r.caFile)
		screen.expect(t, "User name: ")
		screen.enter(t, "me\n")
		screen.expect(t, "Password: ")
		screen.enter(t, password)
		if password == "secret\n" {
			expectExit(t, command, screen, 0)
			screen.expect(t, "Login Succeeded")
		} else {
			expectExit(t, command, screen, exitInterrupted)
		}
		if after, err := unix.IoctlGetTermios(copied, unix.TCGETS); err != nil || *after != *before {
			t.Errorf("want the terminal as it was: %v, %v, %v", before, after, err)
		}
		if strings.Contains(screen.sent(), "secret") {
			t.Errorf("want the password not to be shown, got %q", screen.sent())
		}
	}
	if stored := h.read(os.Getenv("HELM_REGISTRY_CONFIG")); !strings.Contains(stored, base64.StdEncoding.EncodeToString([]byte("me:secret"))) {
		t.Errorf("want the password to be stored, got %s", stored)
	}
}
