// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"fmt"
	"net/http"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/component-operator/runtime/internal/testenv"
)

// newerGated is gated without its first wave, which is to be deleted.
func (p *place) newerGated(value string) string {
	p.Helper()
	_, rest, _ := strings.Cut(gated, "---")
	return p.file("newer.yaml", strings.ReplaceAll(rest, "VALUE", value))
}

// says waits until a process has said something.
func (p *place) says(output *testenv.Output, want string) {
	p.Helper()
	testenv.Eventually(p, func() (bool, string) { return strings.Contains(output.String(), want), output.String() })
}

// ended waits for the end of a process, and compares how it ended.
func (p *place) ended(command *exec.Cmd, output *testenv.Output, code int, wants ...string) {
	p.Helper()
	_ = command.Wait()
	if got := command.ProcessState.ExitCode(); got != code {
		p.Errorf("want exit code %d, got %s:\n%s", code, command.ProcessState, output)
	}
	for _, want := range wants {
		if !strings.Contains(output.String(), want) {
			p.Errorf("%q is missing in:\n%s", want, output)
		}
	}
}

// processID is how others are told of a process.
func processID(command *exec.Cmd) string { return fmt.Sprintf("/%d", command.Process.Pid) }

// TestCancelOlderApply has the newer apply delete what the older one has created: it is only known from the record.
func TestCancelOlderApply(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	older, said := p.start("apply", "web", p.gated("1"))
	p.reachGate()
	p.says(said, "gate: waiting")

	newer, newerSaid := p.start("apply", "web", p.newerGated("2"), "--cancel-older")
	p.ended(older, said, exitInterrupted,
		"release "+p.namespace+"/web, revision 1: canceled by a newer apply of ", processID(newer),
		"What was done so far is recorded, and the newer operation continues from there. Running the same command again would undo what that does.")
	p.says(newerSaid, "gate: waiting")
	p.openGate()
	p.ended(newer, newerSaid, 0, "waiting for the lock, held by ", processID(older)+" since ", "; its apply is asked to end", "revision 2, is ready")

	p.expectEnds(nil, value("2"))
	p.expectHistory("Failed", "Ready")
	revisions := p.items(p.must("history", "web", "-o", "json").stdout)
	if by := p.text(revisions[0], "status", "canceledBy"); !strings.HasPrefix(by, "apply of ") || !strings.HasSuffix(by, processID(newer)) {
		t.Errorf("got %q", by)
	}
	if by := p.text(revisions[1], "status", "canceledBy"); by != "" {
		t.Errorf("got %q", by)
	}
	if got := p.must("history", "web").stdout; !strings.Contains(got, "; canceled by a newer apply of ") {
		t.Errorf("got\n%s", got)
	}
	if p.locked("web") {
		t.Error("the lock was not given back")
	}
}

// acquires recognizes the requests that create the Lease of a lock.
func acquires(request testenv.Request) bool {
	return isLease(request) && request.Method == http.MethodPost
}

// TestTheLastStartedRemains has two processes wait for a third one. The one that was started last gets the lock first.
func TestTheLastStartedRemains(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		reason string
		flags  []string
		code   int
		texts  []string
		values map[string]string
		states []string
	}{
		{
			"the one in between has the flag",
			[]string{"--cancel-older"},
			exitInterrupted,
			[]string{"release PLACE/web: canceled by a newer apply of ", "The release was not changed. The newer operation was started later; running the same command again would undo what that does."},
			value("3"),
			[]string{"Failed", "Ready"},
		},
		{"it has not, and waits its turn", nil, 0, []string{"release PLACE/web, revision 3, is ready"}, value("2"), []string{"Failed", "Superseded", "Ready"}},
	} {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			oldest, oldestSaid := p.start("apply", "web", p.gated("1"))
			p.reachGate()
			p.says(oldestSaid, "gate: waiting")

			waits, proceed, attempts := make(chan struct{}), make(chan struct{}), &atomic.Int32{}
			x := newProxy(t, func(x *proxy) {
				x.before = func(request testenv.Request) bool {
					if acquires(request) && attempts.Add(1) == 2 {
						<-proceed
					}
					return true
				}
				x.after = func(request testenv.Request) bool {
					if isLease(request) && request.Method == http.MethodGet && attempts.Load() == 1 {
						close(waits)
					}
					return true
				}
			})
			between := p.through(x).background(t.Context(), append([]string{"apply", "web", p.newerGated("2")}, test.flags...)...)
			testenv.Receive(t, waits, "the process in between waits")
			last, lastSaid := p.start("apply", "web", p.newerGated("3"), "--cancel-older")
			p.ended(oldest, oldestSaid, exitInterrupted, "canceled by a newer apply of ")
			p.says(lastSaid, "gate: waiting")
			p.openGate()
			p.ended(last, lastSaid, 0, "revision 2, is ready")
			close(proceed)
			got := testenv.Receive(t, between, "the process in between has ended")
			p.expect(got, test.code, test.texts...)
			if test.code != 0 && !strings.Contains(got.stderr, processID(last)) {
				t.Errorf("want the last one to be named, got\n%s", got.stderr)
			}
			p.expectEnds(nil, test.values)
			p.expectHistory(test.states...)
			if p.locked("web") {
				t.Error("the lock was not given back")
			}
		})
	}
}
