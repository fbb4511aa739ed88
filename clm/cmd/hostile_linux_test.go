// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestManifestsOnATerminal: manifests are exact for programs, and cannot control a terminal.
func TestManifestsOnATerminal(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "a.yaml")
	const text = "a\u202eb"
	if err := os.WriteFile(file, []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {x: "+text+"}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"template", "web", file, "--kubeconfig", os.DevNull}
	var exact bytes.Buffer
	if code := run(t.Context(), streams{in: strings.NewReader(""), out: &exact, err: &exact}, args); code != 0 || !strings.Contains(exact.String(), "x: "+text+"\n") {
		t.Errorf("want exact output, got %d, %q", code, exact.String())
	}
	screen, device := newTerminal(t)
	if code := run(t.Context(), streams{in: strings.NewReader(""), out: device, err: device}, args); code != 0 {
		t.Errorf("got %d", code)
	}
	if err := device.Close(); err != nil {
		t.Fatal(err)
	}
	<-screen.closed
	if got := screen.sent(); !strings.Contains(got, `x: a\u202eb`) || strings.Contains(got, text) {
		t.Errorf("want safe output, got %q", got)
	}
}
