// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/component-operator/runtime/pkg/sandbox"
)

// expectAnswer asks the API server of the kubeconfig for its version.
func expectAnswer(t *testing.T, kubeconfig string) {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	version, err := discovery.NewDiscoveryClientForConfigOrDie(config).ServerVersion()
	if err != nil || version.GitVersion != sandbox.Version {
		t.Errorf("got %v, %v; want %s", version, err, sandbox.Version)
	}
}

func TestSandboxUpAndDown(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	chosen := filepath.Join(t.TempDir(), "chosen")

	standard := strings.TrimSpace(h.clm(t, "sandbox", "up").stdout)
	expectAnswer(t, standard)
	if got := h.clm(t, "sandbox", "up", "--kubeconfig", chosen); got.stdout != chosen+"\n" {
		t.Fatalf("got %+v, want the chosen path", got)
	}
	expectAnswer(t, chosen)
	if supervisors := processes(t, "supervise "); len(ofHome(supervisors, chosen)) != 1 {
		t.Errorf("got the supervisors %v, want exactly one", supervisors)
	}
	if got := h.clm(t, "sandbox", "up"); got.code != 0 || got.stdout != standard+"\n" || !strings.Contains(got.stderr, "already running") {
		t.Errorf("got %+v, want the path of the one that is running already", got)
	}

	if got := h.clm(t, "sandbox", "down", "--kubeconfig", chosen); got.code != 0 || got.stdout != chosen+"\n" {
		t.Errorf("got %+v, want that the chosen one was ended", got)
	}
	if _, err := os.Stat(chosen); !os.IsNotExist(err) {
		t.Errorf("the kubeconfig is still there (%v)", err)
	}
	expectNoProcess(t, chosen)
	expectAnswer(t, standard)
	if got := h.clm(t, "sandbox", "down", "--all"); got.code != 0 || got.stdout != standard+"\n" {
		t.Errorf("got %+v, want that the other one was ended", got)
	}
	expectNoProcess(t, standard)
	if got := h.clm(t, "sandbox", "down"); got.code != 0 || got.stdout != "" || !strings.Contains(got.stderr, "no sandbox") {
		t.Errorf("got %+v, want that there was none", got)
	}
}

func ofHome(lines []string, text string) []string {
	var found []string
	for _, line := range lines {
		if strings.Contains(line, text) {
			found = append(found, line)
		}
	}
	return found
}

// pidOf returns the number of the supervisor of that kubeconfig.
func pidOf(t *testing.T, kubeconfig string) string {
	t.Helper()
	found := ofHome(processes(t, "supervise "), kubeconfig)
	if len(found) != 1 {
		t.Fatalf("got the supervisors %v, want exactly one", found)
	}
	return strings.Fields(found[0])[1]
}

func TestSandboxDownAfterACrash(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	kubeconfig := strings.TrimSpace(h.clm(t, "sandbox", "up").stdout)
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	if err := exec.Command("kill", "-KILL", pidOf(t, kubeconfig)).Run(); err != nil {
		t.Fatal(err)
	}
	_, port, _ := strings.Cut(config.Host, "127.0.0.1:")
	expectNoProcess(t, "--secure-port="+port)
	if got := h.clm(t, "sandbox", "down"); got.code != 0 || got.stdout != "" {
		t.Errorf("got %+v, want that there was none to be ended", got)
	}
	if _, err := os.Stat(kubeconfig); !os.IsNotExist(err) {
		t.Errorf("the kubeconfig is still there (%v)", err)
	}
	if got := h.clm(t, "sandbox", "up"); got.code != 0 {
		t.Errorf("starting after a crash: %+v", got)
	}
	expectAnswer(t, kubeconfig)
}
