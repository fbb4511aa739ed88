// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// kwokPackage is built in its own module, which needs none of the replacements of Kubernetes' module.
const kwokPackage = "sigs.k8s.io/kwok/cmd/kwok"

// buildInto builds all programs next to dir and renames the result to dir, so that dir is complete or absent.
func buildInto(ctx context.Context, dir string, progress io.Writer) error {
	compiler, err := exec.LookPath("go")
	if err != nil {
		return errors.New("the go command is needed to build it and was not found: install Go " + goRelease() + " and put it on the PATH")
	}
	if err := removeAbandoned(dir); err != nil {
		return err
	}
	temporary, err := os.MkdirTemp(filepath.Dir(dir), filepath.Base(dir)+".build-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(temporary) }()

	source, result := filepath.Join(temporary, "source"), filepath.Join(temporary, "result")
	if err := writeSources(source); err != nil {
		return err
	}
	kube, kwok := filepath.Join(source, "kube"), filepath.Join(source, "kwok")
	for _, build := range []struct{ dir, output, pkg string }{
		{dir: kube, output: programGuard, pkg: "./guard"},
		{dir: kube, output: programKube, pkg: "."},
		{dir: kwok, output: programKwok, pkg: kwokPackage},
	} {
		args := []string{"build", "-ldflags", strings.Join(linkerFlags(), " "), "-o", filepath.Join(result, build.output), build.pkg}
		command := exec.CommandContext(ctx, compiler, args...)
		command.Dir = build.dir
		command.Env = append(command.Environ(), buildEnvironment...) // the last value of a variable counts
		// An interrupted go command leaves compilers behind, which may hold its output open.
		command.WaitDelay = time.Second
		_, _ = fmt.Fprintf(progress, "building %s of Kubernetes %s, which is needed only once\n", build.output, Version)
		if output, err := command.CombinedOutput(); err != nil {
			lines := strings.Split(strings.TrimSpace(string(output)), "\n")
			return fmt.Errorf("%w\n%s", err, strings.Join(lines[max(0, len(lines)-buildTail):], "\n"))
		}
	}
	for _, name := range []string{programEtcd, programAPIServer, programControllerManager, programScheduler} {
		if err := os.Symlink(programKube, filepath.Join(result, name)); err != nil {
			return err
		}
	}
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	return os.Rename(result, dir)
}

// buildTail is the number of output lines shown of a failed build.
const buildTail = 30

// removeAbandoned removes remains of killed builds of dir. Its caller holds the lock of dir.
func removeAbandoned(dir string) error {
	abandoned, err := filepath.Glob(dir + ".build-*")
	if err != nil {
		return err
	}
	for _, path := range abandoned {
		if err := os.RemoveAll(path); err != nil {
			return err
		}
	}
	return nil
}

// writeSources writes the embedded sources as two modules: the control plane with the guard, and kwok.
func writeSources(dir string) error {
	root, err := fs.Sub(sources, "program")
	if err != nil {
		return err
	}
	return fs.WalkDir(root, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(root, path)
		if err != nil {
			return err
		}
		target := filepath.Join(dir, strings.TrimSuffix(path, ".txt"))
		if strings.HasPrefix(path, programGuard+"/") {
			target = filepath.Join(dir, "kube", path)
		}
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return err
		}
		return os.WriteFile(target, content, 0o644)
	})
}

// linkerFlags set the version: otherwise the API server reports v0.0.0, and charts with a kubeVersion refuse it.
func linkerFlags() []string {
	const variable = "k8s.io/component-base/version."
	numbers := strings.Split(strings.TrimPrefix(Version, "v"), ".")
	return []string{
		"-s", "-w",
		"-X", variable + "gitVersion=" + Version,
		"-X", variable + "gitMajor=" + numbers[0],
		"-X", variable + "gitMinor=" + numbers[1],
		"-X", variable + "gitTreeState=clean",
	}
}

// buildEnvironment leaves no settings for other builds: a vendor folder, a workspace, another platform, the race
// detector. GOFLAGS must not be empty, or a value from "go env -w" would apply.
var buildEnvironment = []string{
	"CGO_ENABLED=0", "GO111MODULE=on", "GOARCH=" + runtime.GOARCH, "GOFLAGS=-mod=readonly", "GOOS=" + runtime.GOOS, "GOTOOLCHAIN=local", "GOWORK=off",
}

// goRelease is the release of Go that the embedded modules require.
func goRelease() string {
	content, err := sources.ReadFile("program/kube/go.mod.txt")
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(content)) {
		if release, found := strings.CutPrefix(line, "go "); found {
			return strings.TrimSpace(release)
		}
	}
	return ""
}
