// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/component-operator/runtime/internal/testenv"
)

// blocks matches the commands of a page.
var blocks = regexp.MustCompile("(?s)```sh\n(.*?)```")

// TestPage runs all commands of the page for newcomers, one after another, in one shell.
func TestPage(t *testing.T) {
	t.Parallel()
	if os.Getenv("TEST_SCAFFOLD_ALL") == "" {
		t.Skip("it takes minutes; make test-pages runs it")
	}
	checkout, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	// As in a terminal, jobs are groups of processes. If a command fails, nothing goes on running, and the log of the
	// operator is shown.
	script := "set -m\ntrap 'cat operator.log || true; kill %1 || true; clm sandbox down || true' ERR\n" + commandsOf(t, "tutorials/operator-from-a-chart.md")
	output := bash(t, checkout, script, homeOf(t)...)
	for _, want := range []string{"release default/sample, revision 1, is ready", "release default/sample, revision 2, is ready", "3/3 replicas available", "release default/sample was deleted", "is up to date"} {
		if !strings.Contains(output, want) {
			t.Errorf("want %q in the output, got:\n%s", want, output)
		}
	}
}

// TestPageOnMigration runs the commands of the page for operators of SAP's runtime on such an operator. Its own test,
// in which a component becomes ready, succeeds afterwards.
func TestPageOnMigration(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("builds an operator")
	}
	checkout, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	archive, err := txtar.ParseFile("testdata/ancestor.txtar")
	if err != nil {
		t.Fatal(err)
	}
	// The go command trusts what the runtime trusts.
	archive.Files = append(archive.Files, txtar.File{Name: "go.sum", Data: []byte(contentOf(t, "../go.sum"))})
	folder := filepath.Join(t.TempDir(), "operator")
	for _, file := range archive.Files {
		path := filepath.Join(folder, file.Name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o750), os.WriteFile(path, file.Data, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(checkout, filepath.Join(filepath.Dir(folder), "runtime")); err != nil {
		t.Fatal(err)
	}
	generator := strings.TrimSpace(bash(t, checkout, "go tool -modfile=internal/tools/go.mod -n controller-gen"))
	script := "git init -q && git add -A\n" + commandsOf(t, "how-to/migrate-from-sap.md") + "go test ./...\n"
	output := bash(t, folder, script, "GOFLAGS=-mod=mod", "GOWORK=off", "CONTROLLER_GEN="+generator, "KUBECONFIG="+testenv.Kubeconfig(t))
	for _, want := range []string{"Makefile:3:LDFLAGS", "Makefile:15:\tsetup-envtest", "Dockerfile:1:FROM golang"} {
		if !strings.Contains(output, want) {
			t.Errorf("want %q in the output, got:\n%s", want, output)
		}
	}
}

// commandsOf returns the commands of a page.
func commandsOf(t *testing.T, page string) string {
	t.Helper()
	var commands strings.Builder
	for _, block := range blocks.FindAllStringSubmatch(contentOf(t, filepath.Join("../website/content", page)), -1) {
		commands.WriteString(block[1])
	}
	if count := strings.Count(commands.String(), "\n"); count < 10 {
		t.Fatalf("%s has %d lines of commands only", page, count)
	}
	return commands.String()
}

// bash runs a script up to the first command that fails, and returns its output.
func bash(t *testing.T, folder, script string, environment ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", script)
	command.Dir = folder
	command.Env = append(os.Environ(), environment...)
	output, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	return string(output)
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
