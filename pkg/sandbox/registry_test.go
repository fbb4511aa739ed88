// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
)

// The case of a live process needs another process; the tests of the command line have it.

func TestEndOfNothing(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_CACHE_HOME", "")
	if found, err := End(t.Context(), "anything"); found || err != nil {
		t.Errorf("got %t, %v; want that there was nothing to end", found, err)
	}
	if paths, err := Registered(); len(paths) > 0 || err != nil {
		t.Errorf("got %v, %v; want that nothing is registered", paths, err)
	}
}

func TestEndOfACrashedOne(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_CACHE_HOME", "")
	// By now, the ID of the crashed process belongs to another process.
	innocent := exec.Command("sleep", "600")
	if err := innocent.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = innocent.Process.Kill()
		_ = innocent.Wait()
	})
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	keys, err := newPKI(filepath.Join(t.TempDir(), "pki"))
	if err != nil {
		t.Fatal(err)
	}
	if err := keys.writeKubeconfig(kubeconfig, "https://127.0.0.1:1", "admin"); err != nil {
		t.Fatal(err)
	}
	_, path, err := recordPath(kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	content, err := json.Marshal(record{Kubeconfig: kubeconfig, PID: innocent.Process.Pid})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}

	if paths, err := Registered(); len(paths) != 1 || err != nil {
		t.Errorf("got %v, %v; want the crashed one", paths, err)
	}
	if found, err := End(t.Context(), kubeconfig); found || err != nil {
		t.Errorf("got %t, %v; want that there was nothing to end", found, err)
	}
	for _, left := range []string{path, kubeconfig} {
		if _, err := os.Stat(left); !os.IsNotExist(err) {
			t.Errorf("%s is still there (%v)", left, err)
		}
	}
	if output, err := exec.Command("ps", "-o", "stat=", "-p", strconv.Itoa(innocent.Process.Pid)).Output(); err != nil || output[0] == 'Z' {
		t.Errorf("an innocent process was hit (%v)", err)
	}
}
