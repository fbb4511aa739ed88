// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
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
