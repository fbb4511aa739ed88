// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package sandbox_test

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/sandbox"
)

// helperVariable makes the test program start a sandbox, say where it is, and wait: a process that tests can kill.
const helperVariable = "SANDBOX_TEST_HELPER"

// The tests of this package are about the sandbox that this code starts, whatever cluster other packages are tested
// with.
func TestMain(m *testing.M) {
	if os.Getenv(helperVariable) != "" {
		os.Exit(helperMain())
	}
	if flag.Parse(); testing.Short() {
		fmt.Println("these tests start sandboxes, and -short leaves such tests out")
		return
	}
	os.Exit(testMain(m))
}

func testMain(m *testing.M) int {
	shared, err := sandbox.Start(context.Background(), sandbox.Options{Log: os.Stderr, Nodes: 2})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	_ = os.Setenv("TEST_SANDBOX_KUBECONFIG", shared.Kubeconfig())
	_ = os.Unsetenv("TEST_USE_EXISTING_CLUSTER")
	code := m.Run()
	if err := shared.Failure(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	if err := shared.Stop(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	return code
}

func helperMain() int {
	helper, err := sandbox.Start(context.Background(), sandbox.Options{})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println(helper.Kubeconfig())
	// Longer than any test waits: it must be killed before.
	time.Sleep(10 * time.Minute)
	return 1
}

// startHelper starts a process with a sandbox and returns it with the kubeconfig path.
func startHelper(t *testing.T) (*os.Process, string) {
	t.Helper()
	command := exec.Command(os.Args[0])
	command.Env = append(os.Environ(), helperVariable+"=1")
	command.Stderr = os.Stderr
	output, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
	})
	line, err := bufio.NewReader(output).ReadString('\n')
	if err != nil {
		t.Fatalf("the helper process did not start: %v", err)
	}
	return command.Process, strings.TrimSpace(line)
}

// processesWith returns the command lines of all processes that mention the text.
func processesWith(t *testing.T, text string) []string {
	t.Helper()
	output, err := exec.Command("ps", "-A", "-ww", "-o", "stat=,args=").Output()
	if err != nil {
		t.Fatalf("listing processes: %v", err)
	}
	var found []string
	for line := range strings.Lines(string(output)) {
		if strings.Contains(line, text) && !strings.HasPrefix(line, "Z") {
			found = append(found, strings.TrimSpace(line))
		}
	}
	return found
}

// expectNoTrace waits until no process works in the folder any more and the folder is gone.
func expectNoTrace(t *testing.T, dir string) {
	t.Helper()
	testenv.Eventually(t, func() (bool, string) {
		if processes := processesWith(t, dir); len(processes) > 0 {
			return false, "still running: " + strings.Join(processes, "\n")
		}
		if _, err := os.Stat(dir); !os.IsNotExist(err) {
			return false, fmt.Sprintf("%s is still there (%v)", dir, err)
		}
		return true, ""
	})
}
