// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/component-operator/runtime/pkg/sandbox"
)

func TestSandboxRun(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	for _, test := range []struct {
		reason string
		args   []string
		want   result
	}{
		{
			reason: "the command has a kubeconfig, and a flag of its own", want: result{stdout: "--nodes=x\n"},
			args: []string{"sandbox", "run", "--nodes=-1", "--", "sh", "-c", `grep -q "server: https://127.0.0.1:" "$KUBECONFIG" && echo "$0"`, "--nodes=x"},
		}, {
			reason: "its exit code is that of clm", want: result{code: 7},
			args: []string{"sandbox", "run", "sh", "-c", "exit 7"},
		}, {
			reason: "so is a signal, as in a shell", want: result{code: 128 + 9},
			args: []string{"sandbox", "run", "--", "sh", "-c", "kill -KILL $$"},
		},
	} {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			got := h.clm(t, test.args...)
			if got.code != test.want.code || got.stdout != test.want.stdout {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
			if strings.Contains(got.stderr, "Error:") {
				t.Errorf("clm speaks of an error of its own: %s", got.stderr)
			}
		})
	}
}

// The command of these tests has a child, and neither of the two can be asked to end.
func TestSandboxRunEndsEverything(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		reason string
		script string // runs in front of what waits
		signal syscall.Signal
	}{
		{reason: "when clm is killed", script: `trap "" TERM INT HUP;`, signal: syscall.SIGKILL},
		{reason: "when clm is interrupted", signal: syscall.SIGINT},
		{reason: "when clm is terminated", signal: syscall.SIGTERM},
	} {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			h, mark := newHome(t), marker(t)
			script := test.script + ` echo "$KUBECONFIG" >$0.tmp; sh -c 'sleep 600; true' $0 & mv $0.tmp $0; wait`
			command := h.command(t, "sandbox", "run", "--", "sh", "-c", script, mark)
			command.Stderr = os.Stderr
			if err := command.Start(); err != nil {
				t.Fatal(err)
			}
			kubeconfig := strings.TrimSpace(waitForFile(t, mark))
			if err := command.Process.Signal(test.signal); err != nil {
				t.Fatal(err)
			}
			_ = command.Wait()
			if code := command.ProcessState.ExitCode(); test.signal == syscall.SIGTERM && code != 128+15 {
				t.Errorf("got exit code %d, want that of the command, which a signal has ended", code)
			}
			expectNoProcess(t, mark)
			expectNoProcess(t, filepath.Dir(kubeconfig))
			if _, err := os.Stat(filepath.Dir(kubeconfig)); test.signal != syscall.SIGKILL && !os.IsNotExist(err) {
				t.Errorf("the temporary folder is still there (%v)", err)
			}
		})
	}
}

func TestSandboxAssets(t *testing.T) {
	t.Parallel()
	got := newHome(t).clm(t, "sandbox", "assets")
	for _, program := range []string{"etcd", "kube-apiserver"} {
		if _, err := os.Stat(filepath.Join(strings.TrimSpace(got.stdout), program)); err != nil {
			t.Error(err)
		}
	}
}

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
