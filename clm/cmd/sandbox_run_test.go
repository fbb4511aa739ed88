// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
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
