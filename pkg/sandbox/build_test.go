// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestProxiesDoNotReachPrograms(t *testing.T) {
	t.Setenv("HTTPS_PROXY", "http://127.0.0.1:1")
	dir := t.TempDir()
	line, err := newLifeline()
	if err != nil {
		t.Fatal(err)
	}
	defer line.close()
	for _, name := range []string{programAPIServer, programKwok} {
		s := &Sandbox{lifeline: line, layout: layout{run: dir}, programs: map[string]string{programGuard: "/usr/bin/env"}}
		command := s.command(name, nil)
		if slices.ContainsFunc(command.Env, func(variable string) bool { return strings.HasPrefix(variable, "HTTPS_PROXY=") }) || len(command.Env) == 0 {
			t.Errorf("environment of %s: %v", name, command.Env)
		}
	}
}

// fakeGo puts a go command on the PATH that runs the script, and gives the process an empty cache. In the script,
// "$output" is the file to be written. It returns the folder in which the script may leave traces, and the cache.
func fakeGo(t *testing.T, script string) (traces, cache string) {
	t.Helper()
	bin, home := t.TempDir(), t.TempDir()
	traces = t.TempDir()
	text := "#!/bin/sh\ncd " + traces + ` || exit 1
while [ "$1" != -o ]; do shift; done
output=$2
mkdir -p "$(dirname "$output")"
` + script + "\n"
	if err := os.WriteFile(filepath.Join(bin, "go"), []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	t.Setenv("HOME", home)
	t.Setenv("XDG_CACHE_HOME", "")
	t.Setenv(assetsVariable, "")
	cache, err := CacheDir()
	if err != nil {
		t.Fatal(err)
	}
	return traces, cache
}

const succeed = `[ "$GOFLAGS $GOWORK $CGO_ENABLED" = "-mod=readonly off 0" ] || exit 1
echo "go: downloading example.io/a v1.0.0"; echo example.io/a; echo example.io/b
echo built >>log; touch "$output"; chmod +x "$output"`

func TestAssetsAreBuiltOnce(t *testing.T) {
	traces, cache := fakeGo(t, succeed)
	t.Setenv("GOFLAGS", "-mod=vendor") // is for other builds
	var callers sync.WaitGroup
	dirs := make([]string, 4)
	for i := range dirs {
		callers.Go(func() {
			dir, err := Assets(t.Context(), nil)
			if err != nil {
				t.Error(err)
			}
			dirs[i] = dir
		})
	}
	callers.Wait()
	if len(slices.Compact(dirs)) != 1 || filepath.Dir(dirs[0]) != cache {
		t.Errorf("got the folders %v, want the same for all, in %s", dirs, cache)
	}
	log, err := os.ReadFile(filepath.Join(traces, "log"))
	if err != nil {
		t.Fatal(err)
	}
	if builds := strings.Count(string(log), "built"); builds != 3 {
		t.Errorf("the go command was called %d times, want once for each of guard, kube, kwok", builds)
	}
	for _, name := range programNames() {
		if !isExecutable(filepath.Join(dirs[0], name)) {
			t.Errorf("%s is missing", name)
		}
	}
	expectOnly(t, cache, filepath.Base(dirs[0]), filepath.Base(dirs[0])+".lock")
}

func TestFailedBuildLeavesNothingBehind(t *testing.T) {
	_, cache := fakeGo(t, `echo "example.io/a: no such thing" >&2; exit 1`)
	_, err := Assets(t.Context(), nil)
	if err == nil || !strings.Contains(err.Error(), "building Kubernetes: exit status 1\nexample.io/a: no such thing") {
		t.Errorf("got error %v, want what the go command said", err)
	}
	key, err := sourcesKey()
	if err != nil {
		t.Fatal(err)
	}
	expectOnly(t, cache, key+".lock")
}

func TestMissingGo(t *testing.T) {
	fakeGo(t, "")
	t.Setenv("PATH", t.TempDir())
	_, err := Assets(t.Context(), nil)
	if err == nil || !strings.Contains(err.Error(), "install Go 1.26.0 and put it on the PATH") {
		t.Errorf("got error %v, want advice to install Go", err)
	}
}

func TestSomeGivenAssetsWin(t *testing.T) {
	fakeGo(t, succeed)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, programAPIServer), nil, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv(assetsVariable, dir)
	paths, err := programs(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, path := range paths {
		if given := filepath.Dir(path) == dir; given != (name == programAPIServer) {
			t.Errorf("%s is taken from %s", name, path)
		}
	}
}

func expectOnly(t *testing.T, dir string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, entry := range entries {
		got = append(got, entry.Name())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("content of %s (-want +got):\n%s", dir, diff)
	}
}
