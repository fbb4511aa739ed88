// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package project

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/testenv"
)

// allVariants chooses which variants TestProjects builds: all, instead of two.
const allVariants = "TEST_SCAFFOLD_ALL"

// TestProjects makes projects without network, and runs what their authors run: formatter, linters and tests. The linters
// run in one project, unless all variants are chosen.
func TestProjects(t *testing.T) {
	if testing.Short() {
		t.Skip("the tests of projects need a Kubernetes, and -short leaves such tests out")
	}
	chosen := []string{"go-both", "helm-both"}
	linted := chosen[:1]
	if os.Getenv(allVariants) != "" {
		chosen = slices.Sorted(maps.Keys(variants))
		linted = chosen
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
			if slices.Contains(linted, name) {
				run(t, folder, "go", "tool", "-modfile=tools/go.mod", "golangci-lint", "run", "--allow-parallel-runners")
			}
			run(t, folder, "go", "test", "./...")
			startsAsMakeRun(t, folder)
		})
	}
}

// startsAsMakeRun builds the program of a project, and starts it with the arguments of "make run" in a cluster that
// knows the kind.
func startsAsMakeRun(t *testing.T, folder string) {
	t.Helper()
	define(t, folder)
	run(t, folder, "make", "build")
	programs, err := filepath.Glob(filepath.Join(folder, "bin", "*"))
	if err != nil || len(programs) != 1 {
		t.Fatalf("want one program, got %v, %v", programs, err)
	}
	output, err := exec.CommandContext(t.Context(), "make", "-C", folder, "-s", "-n", "run").Output()
	if err != nil {
		t.Fatal(err)
	}
	arguments := strings.Fields(strings.TrimPrefix(string(output), "go run ."))
	command := exec.CommandContext(t.Context(), programs[0], arguments...)
	command.Env = append(os.Environ(), "KUBECONFIG="+testenv.Kubeconfig(t))
	log, err := command.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(log)
	var shown strings.Builder
	interrupted := false
	for lines.Scan() {
		shown.WriteString(lines.Text() + "\n")
		if !interrupted && strings.Contains(lines.Text(), "Starting EventSource") {
			// What fails when it starts has failed by then.
			time.Sleep(3 * time.Second)
			interrupted = command.Process.Signal(os.Interrupt) == nil
		}
	}
	if err := command.Wait(); err != nil || !interrupted {
		t.Errorf("the program has ended by itself, or with an error: %v\n%s", err, shown.String())
	}
}

// define creates the definition of the project's kind, unless the tests of the project have left one, and waits until
// it is served.
func define(t *testing.T, folder string) {
	t.Helper()
	c := testenv.Client(t)
	paths, err := filepath.Glob(filepath.Join(folder, "chart/files/crds/*.yaml"))
	if err != nil || len(paths) != 1 {
		t.Fatalf("want one definition, got %v, %v", paths, err)
	}
	content, err := os.ReadFile(paths[0])
	if err != nil {
		t.Fatal(err)
	}
	definition := testenv.Object(t, string(content))
	if err := c.Create(t.Context(), definition); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	testenv.Eventually(t, func() (bool, string) {
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(definition), definition); err != nil {
			return false, err.Error()
		}
		conditions, _, err := unstructured.NestedSlice(definition.Object, "status", "conditions")
		established := slices.ContainsFunc(conditions, func(condition any) bool {
			fields, _ := condition.(map[string]any)
			return fields["type"] == "Established" && fields["status"] == "True"
		})
		return established, fmt.Sprintf("the definition is not established: %v, %v", conditions, err)
	})
}

// fillModuleCache downloads the tools of projects, and what "go mod tidy" looks at beyond what is needed for building
// the runtime, such as the requirements of tests of dependencies.
func fillModuleCache(t *testing.T, runtimePath string) {
	t.Helper()
	for _, name := range []string{"go-both", "resources-plain", "helm-both", "kustomize-mutate"} { // one of each generator
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
	if err := Fill(t.Context(), destination, tree, func(ctx context.Context, temporary string) error {
		return Process(ctx, options, temporary, true, t.Output())
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
