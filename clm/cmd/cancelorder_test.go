// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/component-operator/runtime/internal/testenv"
)

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
					if isLease(request) && request.IsWatch() && attempts.Load() == 1 {
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

// TestTheLastStartedRemainsWhileOthersRender has a process read its manifests for so long that a later one comes first.
func TestTheLastStartedRemainsWhileOthersRender(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.must("apply", "web", p.file("app.yaml", configMap("a", "1")+configMap("b", "1")))
	for _, test := range []struct {
		reason, manifest string
		flags            []string
		code             int
		want             string
	}{
		{"nothing is asked or refused any more", configMap("a", "2"), []string{"--cancel-older", "--max-deletions", "0"}, exitInterrupted, "canceled by a newer apply of "},
		{"there is nothing to be done", configMap("a", "3") + configMap("b", "3"), []string{"--cancel-older"}, 0, "is up to date"},
		{"a plan is only shown", configMap("a", "2"), []string{"--cancel-older", "--dry-run"}, 0, ""},
	} {
		reader, writer := io.Pipe()
		var output bytes.Buffer
		ended := make(chan int, 1)
		go func() {
			s := streams{in: reader, out: &output, err: &output}
			ended <- run(t.Context(), s, append([]string{"apply", "web", "-", "--kubeconfig", p.kubeconfig, "--namespace", p.namespace}, test.flags...))
		}()
		// That returns when it reads.
		if _, err := io.WriteString(writer, "# slow\n"); err != nil {
			t.Fatal(err)
		}
		p.must("apply", "web", p.file("app.yaml", configMap("a", "3")+configMap("b", "3")))
		_, _ = io.WriteString(writer, test.manifest)
		_ = writer.Close()
		if code := testenv.Receive(t, ended, "the slow process has ended"); code != test.code || !strings.Contains(output.String(), test.want) {
			t.Errorf("%s: want exit code %d and %q, got %d:\n%s", test.reason, test.code, test.want, code, &output)
		}
		p.expectValues(map[string]string{"a": "3", "b": "3"})
		// Nothing is outdated that starts now.
		p.must("apply", "web", p.file("app.yaml", configMap("a", "1")+configMap("b", "1")), "--cancel-older")
	}
}

// TestCorrectingDriftCountsAsBegun has a later process correct drift, and nothing else, while an earlier one waits for its turn.
func TestCorrectingDriftCountsAsBegun(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	source := p.file("app.yaml", configMap("a", "1"))
	p.must("apply", "web", source)
	planned, proceed, attempts := make(chan struct{}), make(chan struct{}), &atomic.Int32{}
	x := newProxy(t, func(x *proxy) {
		x.before = func(request testenv.Request) bool {
			if acquires(request) && attempts.Add(1) == 1 {
				close(planned)
				<-proceed
			}
			return true
		}
	})
	older := p.through(x).background(t.Context(), "apply", "web", p.file("app.yaml", configMap("a", "2")), "--cancel-older")
	testenv.Receive(t, planned, "the older process has made its plan")
	p.change("a", "other")
	p.expect(p.clm("apply", "web", source), 0, "1 corrected")
	close(proceed)
	p.expect(testenv.Receive(t, older, "the older process has ended"), exitInterrupted, "canceled by a newer apply of ", "The release was not changed.")
	p.expectValues(map[string]string{"a": "1"})
	p.expectHistory("Ready")
}
