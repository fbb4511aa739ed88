// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package sandbox_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/component-operator/runtime/pkg/sandbox"
)

func start(t *testing.T, options sandbox.Options) *sandbox.Sandbox {
	t.Helper()
	s, err := sandbox.Start(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Stop(context.WithoutCancel(t.Context())) })
	return s
}

func clientOf(t *testing.T, s *sandbox.Sandbox) kubernetes.Interface {
	t.Helper()
	client, err := kubernetes.NewForConfig(s.Config())
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func TestStopLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	var progress bytes.Buffer
	s := start(t, sandbox.Options{Log: &progress})
	dir := filepath.Dir(s.Kubeconfig())
	if processes := processesWith(t, dir); len(processes) == 0 {
		t.Fatalf("no process mentions %s", dir)
	}
	if err := s.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	// Stop itself has waited.
	if processes := processesWith(t, dir); len(processes) > 0 {
		t.Errorf("still running:\n%s", strings.Join(processes, "\n"))
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("%s is still there (%v)", dir, err)
	}
	if err := s.Failure(); err != nil {
		t.Errorf("a requested end is reported as a failure: %v", err)
	}
	if err := s.Stop(t.Context()); err != nil {
		t.Errorf("stopping again: %v", err)
	}
	if !strings.Contains(progress.String(), "Kubernetes "+sandbox.Version+" ready") {
		t.Errorf("the log does not say when it was ready:\n%s", &progress)
	}
}

func TestKilledParentLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	parent, kubeconfig := startHelper(t)
	dir := filepath.Dir(kubeconfig)
	if processes := processesWith(t, dir); len(processes) == 0 {
		t.Fatalf("no process mentions %s", dir)
	}
	if err := parent.Kill(); err != nil {
		t.Fatal(err)
	}
	expectNoTrace(t, dir)
}

func TestDataDirKeepsTheCluster(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	audit := filepath.Join(data, "audit.jsonl")
	options := sandbox.Options{DataDir: data, APIServerOnly: true, AuditLog: audit}
	s := start(t, options)

	if _, err := sandbox.Start(t.Context(), options); err == nil || !strings.Contains(err.Error(), "locked by another process") {
		t.Errorf("a second sandbox in the same folder: got error %v, want that it is locked", err)
	}
	configMap := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "kept"}}
	if _, err := clientOf(t, s).CoreV1().ConfigMaps("default").Create(t.Context(), configMap, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := s.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(s.Kubeconfig()); !os.IsNotExist(err) {
		t.Errorf("the kubeconfig of a stopped sandbox is still there (%v)", err)
	}

	again := start(t, options)
	if _, err := clientOf(t, again).CoreV1().ConfigMaps("default").Get(t.Context(), "kept", metav1.GetOptions{}); err != nil {
		t.Errorf("an object of the first sandbox is not in the second: %v", err)
	}
	content, err := os.ReadFile(audit)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(content, []byte(`"requestURI":"/api/v1/namespaces/default/configmaps`)) {
		t.Error("the audit log does not show the request that created an object")
	}
}

func TestKubeconfigPath(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	const foreign = `{"apiVersion":"v1","kind":"Config","contexts":[{"name":"production","context":{"cluster":"a","user":"b"}}]}`
	if err := os.WriteFile(path, []byte(foreign), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := sandbox.Start(t.Context(), sandbox.Options{KubeconfigPath: path}); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("got error %v, want a refusal to replace %s", err, path)
	}
	if content, err := os.ReadFile(path); err != nil || string(content) != foreign {
		t.Errorf("somebody's kubeconfig was changed to %q (%v)", content, err)
	}
}

// TestBrokenPrograms puts other programs in the place of the API server. It changes the environment, so that it is not
// parallel.
func TestBrokenPrograms(t *testing.T) {
	assets, err := sandbox.Assets(t.Context(), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	replaceAPIServer := func(t *testing.T, script string) {
		t.Helper()
		dir := t.TempDir()
		script = fmt.Sprintf("#!/bin/sh\nreal=%s/kube-apiserver\nmarker=%s/marker\n%s\n", assets, dir, script)
		if err := os.WriteFile(filepath.Join(dir, "kube-apiserver"), []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
		t.Setenv("KUBEBUILDER_ASSETS", dir)
	}

	t.Run("a program that ends is named, with its last words", func(t *testing.T) {
		replaceAPIServer(t, "seq 1 100; echo no such flag >&2; exit 3")
		_, err := sandbox.Start(t.Context(), sandbox.Options{APIServerOnly: true})
		if err == nil {
			t.Fatal("started with a broken API server")
		}
		for _, want := range []string{"kube-apiserver exited", "exit status 3", "\n  100\n", "no such flag"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%q is not in the error: %v", want, err)
			}
		}
		if strings.Contains(err.Error(), "\n  50\n") {
			t.Errorf("more than the last lines are in the error: %v", err)
		}
	})

	t.Run("a port that is taken in the last moment is replaced", func(t *testing.T) {
		replaceAPIServer(t, `if mkdir "$marker" 2>/dev/null; then echo "listen tcp 127.0.0.1: bind: address already in use" >&2; exit 1; fi
exec "$real" "$@"`)
		start(t, sandbox.Options{APIServerOnly: true})
	})

	t.Run("a program that dies later fails the sandbox and ends what it runs", func(t *testing.T) {
		replaceAPIServer(t, `"$real" "$@" & until [ -e "$marker" ]; do sleep 0.05; done; echo the end has come; exit 4`)
		s := start(t, sandbox.Options{APIServerOnly: true})
		marker := filepath.Join(os.Getenv("KUBEBUILDER_ASSETS"), "marker")
		_, err := s.Run(t.Context(), sandbox.Command{Args: []string{"sh", "-c", "touch " + marker + "; sleep 600"}})
		if err == nil || !strings.Contains(err.Error(), "the end has come") {
			t.Errorf("got error %v, want the last words of the API server", err)
		}
		<-s.Failed()
	})
}
