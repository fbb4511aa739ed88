// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/component-operator/runtime/pkg/sandbox"
)

// TestSteps does what the pages say, from top to bottom: it writes the files, and runs the commands in one shell.
func TestSteps(t *testing.T) {
	t.Parallel()
	if os.Getenv("TEST_SCAFFOLD_ALL") == "" {
		t.Skip("it takes minutes; make test-pages runs it")
	}
	steps := newSteps(t)
	output := steps.run(t, "..", steps.script(t))
	for _, block := range readSteps(t) {
		if block.language == "text" {
			checkShown(t, block.content, output)
		}
	}
	for _, name := range []string{"least.yaml", "most.yaml"} {
		want := contentOf(t, filepath.Join(example, "testdata/golden", name))
		if diff := cmp.Diff(want, contentOf(t, filepath.Join(steps.project, "testdata/golden", name))); diff != "" {
			t.Errorf("%s differs from that of the example (-example +page):\n%s", name, diff)
		}
	}
	if rendered := contentOf(t, filepath.Join(steps.project, "testdata/domain/domain.yaml")); !strings.Contains(rendered, "host: express.parcels.example.com") {
		t.Errorf("the host has no domain:\n%s", rendered)
	}
	steps.buildImage(t)
	steps.dropRule(t)
}

// steps is a shell with the project of the pages.
type steps struct {
	environment    []string
	files, project string
}

// newSteps makes a home directory. The sandbox of the pages is none that others know: its record is in a cache of its
// own.
func newSteps(t *testing.T) *steps {
	t.Helper()
	programs, err := sandbox.Assets(t.Context(), t.Output())
	if err != nil {
		t.Fatal(err)
	}
	s := &steps{files: t.TempDir()}
	s.environment = append(append(os.Environ(), homeOf(t)...), "XDG_CACHE_HOME="+t.TempDir(), "KUBEBUILDER_ASSETS="+programs, "FILES="+s.files)
	for _, variable := range s.environment {
		if home, found := strings.CutPrefix(variable, "HOME="); found {
			s.project = filepath.Join(home, "parcel-operator") // the last one counts
		}
	}
	return s
}

// script returns all commands. A file is written when a page comes to it.
func (s *steps) script(t *testing.T) string {
	t.Helper()
	// As in a terminal, jobs are groups of processes. If a command fails, nothing goes on running, and the log of the
	// operator is shown.
	script := bytes.NewBufferString("set -m\ntrap 'cat operator.log || true; kill %1 || true; clm sandbox down || true' ERR\n")
	for _, block := range readSteps(t) {
		switch {
		case block.language == "sh":
			script.WriteString(block.content)
		case block.file != "":
			path := filepath.Join(s.files, block.file)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(block.content), 0o600); err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(script, "mkdir -p %s\ncp \"$FILES/%s\" %s\n", filepath.Dir(block.file), block.file, block.file)
		}
	}
	return script.String()
}

func (s *steps) command(t *testing.T, folder, script string) *exec.Cmd {
	t.Helper()
	command := exec.CommandContext(t.Context(), "bash", "-euxo", "pipefail", "-c", script)
	command.Dir = folder
	command.Env = s.environment
	return command
}

func (s *steps) run(t *testing.T, folder, script string) string {
	t.Helper()
	output, err := s.command(t, folder, script).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	return string(output)
}

// checkShown checks that the output has the lines that the page shows. "…" stands for anything.
func checkShown(t *testing.T, shown, output string) {
	t.Helper()
	for line := range strings.Lines(shown) {
		pattern := "(?m)^" + strings.ReplaceAll(regexp.QuoteMeta(strings.TrimSpace(line)), "…", ".*") + "$"
		if !regexp.MustCompile(pattern).MatchString(output) {
			t.Errorf("the page shows %q, which is not in the output:\n%s", line, output)
		}
	}
}

// buildImage has the go command plan what the Dockerfile builds, with copies of all dependencies, as in the image. The
// compilation itself, which takes minutes with these options, would show nothing that vet has not.
func (s *steps) buildImage(t *testing.T) {
	t.Helper()
	build := regexp.MustCompile(`(?m)^RUN (.*)$`).FindStringSubmatch(fileOf(t, "Dockerfile"))
	if build == nil || !strings.Contains(build[1], " go build ") {
		t.Fatalf("the Dockerfile does not build: %v", build)
	}
	planned := strings.NewReplacer("go build ", "go build -n ", "-o /out/", "-o "+t.TempDir()+"/").Replace(build[1])
	s.run(t, s.project, "go mod vendor\n"+planned+" > /dev/null 2>&1\nrm -r vendor")
}

// dropRule checks that the test of the tutorial notices a missing rule.
func (s *steps) dropRule(t *testing.T) {
	t.Helper()
	path := filepath.Join(s.project, "deploy/rbac.yaml")
	content := contentOf(t, path)
	rule := regexp.MustCompile(`(?m)^  - apiGroups: \[apps\]\n    resources: .*\n    verbs: .*\n`)
	if !rule.MatchString(content) {
		t.Fatal("the rule is not found")
	}
	if err := os.WriteFile(path, []byte(rule.ReplaceAllString(content, "")), 0o600); err != nil {
		t.Fatal(err)
	}
	output, err := s.command(t, s.project, "TEST_PATIENCE=20s go test -run TestOperator .").CombinedOutput()
	if want := "lacks rights: get statefulsets.apps"; err == nil || !strings.Contains(string(output), want) {
		t.Errorf("want the test to fail with %q, got error %v and:\n%s", want, err, output)
	}
}
