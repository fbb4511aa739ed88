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
	"path/filepath"
	"runtime"
	"strings"
	"time"
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

// programKube is the executable behind the four programs of the control plane.
const programKube = "kube"

// assetsVariable is the environment variable by which the tools around Kubernetes find their binaries.
const assetsVariable = "KUBEBUILDER_ASSETS"

// lockInterval is the pause between two attempts to get a lock that another process holds.
const lockInterval = 200 * time.Millisecond

// sources hold the programs' source code. Files go.mod or a second package main would not belong to this module, so
// those files have the extension .txt here.
//
//go:embed program
var sources embed.FS

// Assets returns a folder that holds all programs: etcd, kube-apiserver, kube-controller-manager, kube-scheduler, kwok,
// and guard. That is KUBEBUILDER_ASSETS if it holds them all. Otherwise it is a folder in the user's cache directory,
// and Assets builds the programs if they are missing there. Building takes some minutes, and needs the go command and,
// unless all modules are cached, the module proxy. Processes that need the same programs at the same time build them
// once.
//
// Assets writes its progress to progress, which may be nil.
func Assets(ctx context.Context, progress io.Writer) (string, error) {
	if dir := os.Getenv(assetsVariable); dir != "" && holdsAll(dir) {
		return dir, nil
	}
	return builtAssets(ctx, progress)
}

// CacheDir is the folder for everything that outlives a sandbox: "component-operator-runtime/sandbox" in
// the user's cache directory.
func CacheDir() (string, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("finding the cache directory: %w", err)
	}
	return filepath.Join(dir, "component-operator-runtime", "sandbox"), nil
}

func builtAssets(ctx context.Context, progress io.Writer) (string, error) {
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
	defer func() { _ = lock.Close() }()
	if holdsAll(dir) {
		return dir, nil
	}
	if err := buildInto(ctx, dir, progress); err != nil {
		return "", fmt.Errorf("building Kubernetes: %w", err)
	}
	return dir, nil
}

// programs returns the path of each program: from KUBEBUILDER_ASSETS if it is there, else from the built ones.
func programs(ctx context.Context, progress io.Writer) (map[string]string, error) {
	dir, err := Assets(ctx, progress)
	if err != nil {
		return nil, err
	}
	paths := map[string]string{}
	for _, name := range programNames() {
		paths[name] = filepath.Join(dir, name)
		if preferred := filepath.Join(os.Getenv(assetsVariable), name); os.Getenv(assetsVariable) != "" && isExecutable(preferred) {
			paths[name] = preferred
		}
	}
	return paths, nil
}

func programNames() []string {
	return []string{programEtcd, programAPIServer, programControllerManager, programScheduler, programKwok, programGuard}
}

func holdsAll(dir string) bool {
	for _, name := range programNames() {
		if !isExecutable(filepath.Join(dir, name)) {
			return false
		}
	}
	return true
}

func isExecutable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// sourcesKey names the folder of the built programs: a hash over all inputs of the build except the compiler.
func sourcesKey() (string, error) {
	hash := sha256.New()
	_, _ = fmt.Fprintf(hash, "%s/%s\n%s\n", runtime.GOOS, runtime.GOARCH, strings.Join(linkerFlags(), " "))
	err := fs.WalkDir(sources, "program", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := sources.ReadFile(path)
		if err != nil {
			return err
		}
		_, _ = fmt.Fprintf(hash, "%s %d\n%s", path, len(content), content)
		return nil
	})
	if err != nil {
		return "", fmt.Errorf("reading the embedded sources: %w", err)
	}
	return hex.EncodeToString(hash.Sum(nil))[:16], nil
}

// waitForLock locks the file. If another process holds it, waitForLock says so once, and waits.
func waitForLock(ctx context.Context, path string, progress io.Writer) (*os.File, error) {
	ticker := time.NewTicker(lockInterval)
	defer ticker.Stop()
	for told := false; ; told = true {
		lock, err := lockFile(path)
		if !errors.Is(err, errLocked) {
			return lock, err
		}
		if !told {
			_, _ = fmt.Fprintln(progress, "waiting for another process that is building Kubernetes")
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-ticker.C:
		}
	}
}
