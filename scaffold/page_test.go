// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// blocks matches the commands of a page.
var blocks = regexp.MustCompile("(?s)```sh\n(.*?)```")

// TestPage runs all commands of the page for newcomers, one after another, in one shell.
func TestPage(t *testing.T) {
	t.Parallel()
	if os.Getenv("TEST_SCAFFOLD_ALL") == "" {
		t.Skip("it takes minutes; make test-scaffold runs it")
	}
	checkout, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(checkout, "website/content/operator-from-a-chart.md"))
	if err != nil {
		t.Fatal(err)
	}
	// As in a terminal, jobs are groups of processes. If a command fails, nothing goes on running, and the log of the operator is shown.
	script := bytes.NewBufferString("set -m\ntrap 'cat operator.log || true; kill %1 || true; clm sandbox down || true' ERR\n")
	for _, block := range blocks.FindAllSubmatch(page, -1) {
		script.Write(block[1])
	}
	if count := strings.Count(script.String(), "\n"); count < 15 {
		t.Fatalf("the page has %d lines of commands only", count)
	}
	command := exec.CommandContext(t.Context(), "bash", "-euxo", "pipefail", "-c", script.String())
	command.Dir = checkout
	command.Env = append(os.Environ(), homeOf(t)...)
	output, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	for _, want := range []string{"release default/sample, revision 1, is ready", "release default/sample was deleted", "is up to date"} {
		if !strings.Contains(string(output), want) {
			t.Errorf("want %q in the output, got:\n%s", want, output)
		}
	}
}

// homeOf returns an environment with a home directory of the test, and with the caches of the user.
func homeOf(t *testing.T) []string {
	t.Helper()
	environment := []string{"HOME=" + t.TempDir(), "TEST_SANDBOX_KUBECONFIG="}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	environment = append(environment, "XDG_CACHE_HOME="+cache)
	for _, name := range []string{"GOMODCACHE", "GOCACHE", "GOPATH"} {
		value, err := exec.CommandContext(t.Context(), "go", "env", name).Output()
		if err != nil {
			t.Fatal(err)
		}
		environment = append(environment, name+"="+strings.TrimSpace(string(value)))
	}
	return environment
}
