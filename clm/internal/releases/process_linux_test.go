// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package releases

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/component-operator/runtime/internal/testenv"
)

// newProcess starts a process that lives until it is killed.
func newProcess(t *testing.T) *exec.Cmd {
	t.Helper()
	command := exec.Command("sleep", "3600")
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
	})
	return command
}

func TestTheDeadAreRecognized(t *testing.T) {
	t.Parallel()
	command := newProcess(t)
	text := processText(command.Process.Pid)
	machine, number := thisMachine(), text[len(thisMachine()):]
	for _, test := range []struct {
		reason, text string
		dead         bool
	}{
		{"a living process", text, false},
		{"this process", processText(os.Getpid()), false},
		{"another process that was given the same id", text + "0", true},
		{"an id that no process has", machine + "/999999999/1", true},
		{"another machine", "x" + machine + "/999999999/1", false},
		{"the time before the last boot", strings.Replace(text, machine, strings.Replace(machine, "/", "/0", 1), 1), false},
		{"no machine", number, false},
		{"no start", machine + "/999999999", false},
		{"no number", machine + "/x/1", false},
		{"all processes of a group", machine + "/-1/1", false},
		{"a lock of another version", "", false},
	} {
		if got := isDead(test.text); got != test.dead {
			t.Errorf("%s: want %v, got %v for %q", test.reason, test.dead, got, test.text)
		}
	}
	if err := command.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	testenv.Eventually(t, func() (bool, string) {
		return isDead(text), "a process that was killed is not taken for dead before its parent knows"
	})
	_ = command.Wait()
	if !isDead(text) {
		t.Error("a process that has ended is not taken for dead")
	}
}

// TestLockOfAKilledProcess has leases that last for an hour.
func TestLockOfAKilledProcess(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	command := newProcess(t)
	lease := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: w.namespace, Name: "clm.demo", Annotations: map[string]string{processAnnotation: processText(command.Process.Pid)},
		},
		Spec: coordinationv1.LeaseSpec{HolderIdentity: new("jane@laptop/4711"), LeaseDurationSeconds: new(int32(3600))},
	}
	w.must(w.client.Create(t.Context(), lease))
	options := LockOptions{Namespace: w.namespace, Name: "demo", Holder: "next", Timeout: -1}
	if _, err := w.store.Lock(t.Context(), options); err == nil {
		t.Fatal("want the lock to be respected as long as the process lives")
	}
	_ = command.Process.Kill()
	_ = command.Wait()
	lock, err := w.store.Lock(t.Context(), options)
	w.must(err)
	w.must(lock.Fence(t.Context()))
	options.Holder = "third"
	if _, err := w.store.Lock(t.Context(), options); err == nil {
		t.Error("want the lock to be respected that was taken over")
	}
	w.must(lock.Release(t.Context()))
}
