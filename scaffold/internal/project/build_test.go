// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package project

import (
	"context"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

// allVariants chooses which variants TestProjects builds: all, instead of two.
const allVariants = "TEST_SCAFFOLD_ALL"

// TestProjects makes projects without network, and runs what their authors run: formatter, linters and tests.
func TestProjects(t *testing.T) {
	if testing.Short() {
		t.Skip("the tests of projects need a Kubernetes, and -short leaves such tests out")
	}
	chosen := []string{"go-both", "helm-both"}
	if os.Getenv(allVariants) != "" {
		chosen = slices.Sorted(maps.Keys(variants))
	}
	runtimePath, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	fillModuleCache(t, runtimePath)
	t.Setenv("GOPROXY", "off")
	t.Setenv("GOFLAGS", "-mod=mod")
	for _, name := range chosen {
		t.Run(name, func(t *testing.T) {
			options := variants[name].options(t)
			folder := filepath.Join(t.TempDir(), "project")
			if options.RuntimePath, err = filepath.Rel(folder, runtimePath); err != nil {
				t.Fatal(err)
			}
			create(t, options, folder)
			run(t, folder, "go", "tool", "-modfile=tools/go.mod", "golangci-lint", "fmt", "--diff")
			run(t, folder, "go", "tool", "-modfile=tools/go.mod", "golangci-lint", "run", "--allow-parallel-runners")
			run(t, folder, "go", "test", "./...")
		})
	}
}

// fillModuleCache downloads the tools of projects, and what "go mod tidy" looks at beyond what is needed for building the runtime, such as the requirements
// of tests of dependencies.
func fillModuleCache(t *testing.T, runtimePath string) {
	t.Helper()
	for _, name := range []string{"go-both", "helm-both", "kustomize-mutate"} { // one of each generator
		folder := filepath.Join(t.TempDir(), "project")
		options := variants[name].options(t)
		options.RuntimePath = runtimePath
		if err := errors.Join(renderWith(t, options).WriteTo(folder), seedChecksums(options, folder)); err != nil {
			t.Fatal(err)
		}
		run(t, folder, "go", "mod", "tidy")
		run(t, folder, "go", "mod", "download", "-modfile=tools/go.mod")
	}
}

// create makes a project.
func create(t *testing.T, options *Options, folder string) {
	t.Helper()
	tree := renderWith(t, options)
	destination, err := NewDestination(folder)
	if err != nil {
		t.Fatal(err)
	}
	if err := destination.Fill(t.Context(), tree, func(ctx context.Context, temporary string) error {
		return Process(ctx, options, temporary, t.Output())
	}); err != nil {
		t.Fatal(err)
	}
}

// run runs a command in a folder.
func run(t *testing.T, folder string, arguments ...string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), arguments[0], arguments[1:]...)
	command.Dir = folder
	command.Env = append(os.Environ(), "GOWORK=off")
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", arguments, err, output)
	}
}
