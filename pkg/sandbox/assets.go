// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// The names of the programs, which are also their file names in the assets folder.
const (
	programEtcd              = "etcd"
	programAPIServer         = "kube-apiserver"
	programControllerManager = "kube-controller-manager"
	programScheduler         = "kube-scheduler"
	programKwok              = "kwok"
	programGuard             = "guard"
)

// programKube is the executable of the four programs of the control plane.
const programKube = "kube"

// assetsVariable is the environment variable with the folder of binaries that Kubernetes' test tools use.
const assetsVariable = "KUBEBUILDER_ASSETS"

// lockInterval is the pause between two attempts to get a lock that another process holds.
const lockInterval = 200 * time.Millisecond

// sources contains the programs' source code. Files with the name go.mod, or in a second package main, could not be
// part of this module, so these files have the extension .txt here.
//
//go:embed program
var sources embed.FS

// Assets returns a folder that contains all programs: etcd, kube-apiserver, kube-controller-manager, kube-scheduler,
// kwok, and guard. That is KUBEBUILDER_ASSETS if it contains them all. Otherwise it is a folder in the user's cache
// directory, where Assets builds missing programs. Building takes a few minutes, and needs the go command and, unless
// all modules are cached, the module proxy. If several processes need the same programs at once, only one builds them.
//
// Assets writes its progress to progress, which may be nil.
func Assets(ctx context.Context, progress io.Writer) (string, error) {
	if dir := os.Getenv(assetsVariable); dir != "" && holdsAll(dir) {
		return dir, nil
	}
	if progress == nil {
		progress = io.Discard
	}
	root, err := CacheDir()
	if err != nil {
		return "", err
	}
	key, err := sourcesKey()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(root, key)
	if holdsAll(dir) {
		return dir, nil
	}
	if err := os.MkdirAll(root, 0o755); err != nil {
		return "", fmt.Errorf("creating the cache directory: %w", err)
	}
	lock, err := waitForLock(ctx, dir+".lock", progress)
	if err != nil {
		return "", err
	}
	defer unlock(lock)
	if holdsAll(dir) {
		return dir, nil
	}
	if err := buildInto(ctx, dir, progress); err != nil {
		return "", fmt.Errorf("building Kubernetes: %w", err)
	}
	return dir, nil
}

// CacheDir returns the folder for everything that outlives a sandbox: "component-operator-runtime/sandbox" in the
// user's cache directory.
func CacheDir() (string, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("finding the cache directory: %w", err)
	}
	return filepath.Join(dir, "component-operator-runtime", "sandbox"), nil
}

// programs returns the path of each program: the one in KUBEBUILDER_ASSETS if it exists, otherwise the built one.
func programs(ctx context.Context, progress io.Writer) (map[string]string, error) {
	dir, err := Assets(ctx, progress)
	if err != nil {
		return nil, err
	}
	paths := map[string]string{}
	for _, name := range programNames() {
		paths[name] = filepath.Join(dir, name)
		if preferred := os.Getenv(assetsVariable); preferred != "" && isExecutable(filepath.Join(preferred, name)) {
			paths[name] = filepath.Join(preferred, name)
		}
	}
	return paths, nil
}

func programNames() []string {
	return []string{programEtcd, programAPIServer, programControllerManager, programScheduler, programKwok, programGuard}
}

func holdsAll(dir string) bool {
	return !slices.ContainsFunc(programNames(), func(name string) bool { return !isExecutable(filepath.Join(dir, name)) })
}

func isExecutable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// sourcesKey names the folder of the built programs: a hash over all inputs of the build except the compiler.
func sourcesKey() (string, error) {
	hash := sha256.New()
	_, _ = fmt.Fprintf(hash, "%s/%s\n%s\n", runtime.GOOS, runtime.GOARCH, strings.Join(linkerFlags(), " "))
	err := eachSource(func(path string, content []byte) error {
		_, _ = fmt.Fprintf(hash, "%s %d\n%s", path, len(content), content)
		return nil
	})
	if err != nil {
		return "", fmt.Errorf("reading the embedded sources: %w", err)
	}
	return hex.EncodeToString(hash.Sum(nil))[:16], nil
}

// eachSource calls a function with all files of sources.
func eachSource(do func(path string, content []byte) error) error {
	return fs.WalkDir(sources, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := sources.ReadFile(path)
		if err != nil {
			return err
		}
		return do(path, content)
	})
}

// waitForLock locks the file. If another process holds the lock, it reports that once to progress, and waits.
func waitForLock(ctx context.Context, path string, progress io.Writer) (lock *os.File, err error) {
	tell := sync.OnceFunc(func() { _, _ = fmt.Fprintln(progress, "waiting for another process that is building Kubernetes") })
	err = wait.PollUntilContextCancel(ctx, lockInterval, true, func(context.Context) (bool, error) {
		lock, err = lockFile(path)
		if errors.Is(err, errLocked) {
			tell()
			return false, nil
		}
		return true, err
	})
	return lock, err
}

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
		// An interrupted go command leaves compilers behind, which may keep its output open.
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

// removeAbandoned removes the remains of killed builds of dir. The caller must hold the lock of dir.
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
	return eachSource(func(path string, content []byte) error {
		path = strings.TrimPrefix(path, "program/")
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

// linkerFlags set the version: otherwise the API server would report v0.0.0, and charts with a kubeVersion refuse it.
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

// buildEnvironment overrides settings that are meant for other builds: a vendor folder, a workspace, another platform,
// the race detector. GOFLAGS must not be empty; otherwise, a value from "go env -w" would apply.
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
