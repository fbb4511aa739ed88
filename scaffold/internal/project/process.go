// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package project

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/mod/modfile"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/generator"
	"github.com/component-operator/runtime/pkg/types"
)

// A step is a command that makes a part of the project from other parts.
type step struct {
	command []string
	purpose string
}

// choosing is the step for a version of controller-gen that the templates do not have.
func choosing(options *Options) []step {
	if options.ControllerToolsVersion == versions.controllerTools {
		return nil
	}
	return []step{{
		[]string{"go", "get", "-modfile=tools/go.mod", "sigs.k8s.io/controller-tools/cmd/controller-gen@" + options.ControllerToolsVersion}, "choose controller-gen",
	}}
}

// Steps that complete a project.
var (
	tidy     = step{[]string{"go", "mod", "tidy"}, "resolve the requirements"}
	generate = step{[]string{"make", "generate"}, "generate code and definitions"}
	golden   = step{[]string{"make", "golden"}, "write the golden files"}
	vet      = step{[]string{"go", "vet", "./..."}, "check that it builds"}
)

// Process completes a new project in a folder with what is generated: requirements, code, definitions, golden files. It
// writes a line for each step.
func Process(ctx context.Context, options *Options, folder string, out io.Writer) error {
	if err := seedChecksums(options, folder); err != nil {
		return err
	}
	return process(ctx, folder, out, append(choosing(options), tidy, generate, golden, vet))
}

// Reprocess is Process for a project that exists. It leaves golden files to the author, who reviews what changes there.
func Reprocess(ctx context.Context, options *Options, folder string, out io.Writer) error {
	return process(ctx, folder, out, append(choosing(options), tidy, generate, vet))
}

func process(ctx context.Context, folder string, out io.Writer, steps []step) error {
	for _, program := range []string{"go", "make"} {
		if _, err := exec.LookPath(program); err != nil {
			return fmt.Errorf("finding %s, which the project is completed with: %w; --skip-post-processing leaves that to you", program, err)
		}
	}
	for _, step := range steps {
		if err := step.run(ctx, folder, out); err != nil {
			return err
		}
	}
	return nil
}

// run shows the output of the command only if it fails.
func (s step) run(ctx context.Context, folder string, out io.Writer) error {
	text := strings.Join(s.command, " ")
	fmt.Fprintf(out, "  %-24s %s … ", text, s.purpose)
	started := time.Now()
	command := exec.CommandContext(ctx, s.command[0], s.command[1:]...)
	command.Dir = folder
	command.Env = append(os.Environ(), "GOWORK=off", "MAKEFLAGS=", "MAKELEVEL=")
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	command.WaitDelay = 10 * time.Second
	var output bytes.Buffer
	command.Stdout, command.Stderr = &output, &output
	err := command.Run()
	if ctx.Err() != nil {
		fmt.Fprintln(out, "interrupted")
		return ctx.Err()
	}
	if err != nil {
		fmt.Fprintln(out, "failed")
		return fmt.Errorf("running %s: %w\n%s", text, err, bytes.TrimSpace(output.Bytes()))
	}
	fmt.Fprintln(out, time.Since(started).Round(100*time.Millisecond))
	return nil
}

// seedChecksums gives the project the checksums of a local runtime, whose requirements it will have: they are verified
// already, and need no network.
func seedChecksums(options *Options, folder string) error {
	if options.RuntimePath == "" {
		return nil
	}
	path := options.RuntimePath
	if !filepath.IsAbs(path) {
		path = filepath.Join(folder, path)
	}
	content, err := os.ReadFile(filepath.Join(path, "go.sum"))
	if err != nil {
		return fmt.Errorf("reading the checksums of the runtime (--runtime-path): %w", err)
	}
	if err := os.WriteFile(filepath.Join(folder, "go.sum"), content, 0o644); err != nil {
		return fmt.Errorf("writing go.sum: %w", err)
	}
	return nil
}

// CheckRuntime returns an error unless the folder has a checkout of the runtime.
func CheckRuntime(folder string) error {
	content, err := os.ReadFile(filepath.Join(folder, "go.mod"))
	if err != nil {
		return fmt.Errorf("%s: must be a checkout of %s: %w", folder, runtimeModule, err)
	}
	if found := modfile.ModulePath(content); found != runtimeModule {
		return fmt.Errorf("%s: must be a checkout of %s, but is one of %s", folder, runtimeModule, found)
	}
	return nil
}

// Code returns the contents of a generator that is written in Go: no files, and the rights for the kinds that the
// scaffolded code renders.
func Code(ctx context.Context, request Request) (*Contents, error) {
	contents := &Contents{}
	rendered := generator.Func(func(_ context.Context, namespace, name string, _ types.Unstructurable) ([]client.Object, error) {
		meta := metav1.ObjectMeta{Namespace: namespace, Name: name}
		return []client.Object{
			&appsv1.Deployment{TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"}, ObjectMeta: meta},
			&corev1.Service{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"}, ObjectMeta: meta},
		}, nil
	})
	return contents, contents.AddRights(ctx, Rendered{Generator: rendered, OperatorName: request.OperatorName})
}
