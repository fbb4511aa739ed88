// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Cosign puts the program cosign into PATH, and returns a function that runs it in a new folder without configuration.
// With the files there, "cosign sign --signing-config signing.json --trusted-root root.json -y"
// needs nothing but the registry. With -short, the test is skipped, because cosign may have to be built first.
func Cosign(t *testing.T) (folder string, run func(line string)) {
	t.Helper()
	if testing.Short() {
		t.Skip("this test builds cosign, and -short leaves such tests out")
	}
	build := func(dir string, arguments ...string) string {
		command := exec.CommandContext(t.Context(), "go", arguments...)
		command.Dir, command.Stderr = dir, os.Stderr
		output, err := command.Output()
		if err != nil {
			t.Fatalf("go %v: %v", arguments, err)
		}
		return strings.TrimSpace(string(output))
	}
	top := filepath.Dir(build("", "env", "GOMOD"))
	program := build(filepath.Join(top, "internal", "cosign"), "tool", "-n", "cosign")
	t.Setenv("PATH", filepath.Dir(program)+string(os.PathListSeparator)+os.Getenv("PATH"))
	folder = t.TempDir()
	t.Setenv("TUF_ROOT", folder)
	t.Setenv("DOCKER_CONFIG", folder)
	t.Setenv("COSIGN_PASSWORD", "")
	const offline = `{"mediaType": "application/vnd.dev.sigstore.MEDIA"}`
	for name, media := range map[string]string{"signing.json": "signingconfig.v0.2+json", "root.json": "trustedroot+json;version=0.1"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(strings.Replace(offline, "MEDIA", media, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder, func(line string) {
		t.Helper()
		command := exec.CommandContext(t.Context(), program, strings.Fields(line)...)
		command.Dir = folder
		if output, err := command.CombinedOutput(); err != nil {
			t.Fatalf("cosign %s: %v\n%s", line, err, output)
		}
	}
}
