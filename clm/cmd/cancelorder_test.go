// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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

// TestRequestToEndOutlastsThePlan asks a process to end whose plan is outdated when it gets the lock.
func TestRequestToEndOutlastsThePlan(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	first, second := p.file("app.yaml", configMap("a", "1")), p.file("app.yaml", configMap("a", "2"))
	p.must("apply", "web", first)
	asked, proceed, attempts := make(chan struct{}), make(chan struct{}), &atomic.Int32{}
	x := newProxy(t, func(x *proxy) {
		x.before = func(request testenv.Request) bool {
			switch {
			case !acquires(request):
			case attempts.Add(1) == 1:
				p.must("apply", "web", second)
			default:
				// Its next attempt, if there is one, comes too late to be asked to end.
				<-proceed
			}
			return true
		}
		x.after = func(request testenv.Request) bool {
			if acquires(request) && attempts.Load() == 1 {
				// It has the lock, and does not know that yet.
				close(asked)
				testenv.Eventually(t, func() (bool, string) {
					lease := p.lease("web")
					return lease != nil && lease.GetAnnotations()["clm.cs.sap.com/cancel-requested-by"] != "", fmt.Sprint(lease)
				})
			}
			return true
		}
	})
	older := p.through(x).background(t.Context(), "apply", "web", p.file("app.yaml", configMap("a", "3")))
	testenv.Receive(t, asked, "the older process has the lock")
	newer, newerSaid := p.start("apply", "web", p.file("app.yaml", configMap("a", "4")), "--cancel-older")
	p.ended(newer, newerSaid, 0, "; its apply is asked to end", "revision 3, is ready")
	close(proceed)
	p.expect(testenv.Receive(t, older, "the older process has ended"), exitInterrupted, "canceled by a newer apply of ", processID(newer))
	p.expectValues(map[string]string{"a": "4"})
	p.expectHistory("Superseded", "Superseded", "Ready")
}

// TestCancelOlderRevert cancels an apply that is reverting what has failed.
func TestCancelOlderRevert(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.readyBehindGate()

	failing := p.file("failing.yaml", strings.ReplaceAll(gated, "VALUE", "2")+"---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: invalid}\ndata: {\"not a key\": \"\"}\n")
	older, said := p.start("apply", "web", failing, "--revert-on-failure")
	p.says(said, "revision 3: waiting")
	newer, newerSaid := p.start("apply", "web", p.gated("4"), "--cancel-older")
	p.ended(older, said, exitInterrupted, "release "+p.namespace+"/web, revision 3: canceled by a newer apply of ", processID(newer))
	p.says(newerSaid, "gate: waiting")
	p.openGate()
	p.ended(newer, newerSaid, 0, "; its rollback is asked to end", "revision 4, is ready")
	p.expectHistory("Superseded", "Failed", "Failed", "Ready")
}

// TestCanceledRevisionBecomesReady has everything become ready that a canceled apply has written, before the next revision is begun.
func TestCanceledRevisionBecomesReady(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	source := p.file("gate.yaml", gate)
	older, said := p.start("apply", "web", source)
	p.reachGate()
	p.says(said, "gate: waiting")
	other := p.file("other.yaml", gate+configMap("a", "1"))
	p.expect(p.clm("apply", "web", other, "--cancel-older", "--lock-timeout", "100ms"), exitRefused)
	p.ended(older, said, exitInterrupted, "revision 1: canceled by a newer apply of ")
	canceledBy := func(want string) {
		t.Helper()
		revisions := p.items(p.must("history", "web", "-o", "json").stdout)
		if got := p.text(revisions[0], "status", "canceledBy"); !strings.HasPrefix(got, want) || (got == "") != (want == "") {
			t.Errorf("want revision 1 to be canceled by %q, got %q", want, got)
		}
	}
	p.expectHistory("Applying")
	canceledBy("apply of ")

	p.openGate()
	p.must("apply", "web", other)
	p.expectHistory("Superseded", "Ready")
	canceledBy("")
	if got := p.must("history", "web").stdout; strings.Contains(got, "canceled") {
		t.Errorf("want no revision that was ready to be called canceled, got\n%s", got)
	}
}

// TestCancelOlderMayBeRefusedAfterwards has an older apply create what the newer one would have to delete, after the newer one has made its plan.
func TestCancelOlderMayBeRefusedAfterwards(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	olderPlanned, newerPlanned, reached := make(chan struct{}), make(chan struct{}), make(chan struct{})
	// delayed lets a process wait between its plan and its attempt to get the lock.
	delayed := func(planned chan<- struct{}, proceed <-chan struct{}) *place {
		attempts := &atomic.Int32{}
		return p.through(newProxy(t, func(x *proxy) {
			x.before = func(request testenv.Request) bool {
				if acquires(request) && attempts.Add(1) == 1 {
					close(planned)
					<-proceed
				}
				return true
			}
		}))
	}
	older := delayed(olderPlanned, newerPlanned).background(t.Context(), "apply", "web", p.gated("1"))
	testenv.Receive(t, olderPlanned, "the older process has made its plan")
	newer := delayed(newerPlanned, reached).background(t.Context(), "apply", "web", p.newerGated("2"), "--cancel-older", "--max-deletions", "0")
	testenv.Receive(t, newerPlanned, "the newer process has made its plan")
	p.reachGate()
	close(reached)
	p.expect(testenv.Receive(t, older, "the older process has ended"), exitInterrupted, "revision 1: canceled by a newer apply of ")
	p.expect(testenv.Receive(t, newer, "the newer process has ended"), exitRefused, "; its apply is asked to end", "--max-deletions 0 allows only 0")
	p.expectEnds(value("1"), nil)
	p.expectHistory("Applying")
	p.openGate()
	p.must("apply", "web", p.gated("1"))
	p.expectHistory("Ready")
}

// TestOvertakenWithANewNamespace has a process overtaken right after it has created the namespace of the release: it must not say that it has changed nothing.
func TestOvertakenWithANewNamespace(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.namespace += "-new"
	t.Cleanup(func() {
		_ = p.client.Delete(context.WithoutCancel(t.Context()), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: p.namespace}})
	})
	older, newer := p.file("app.yaml", configMap("a", "1")), p.file("app.yaml", configMap("a", "2"))
	x := newProxy(t, func(x *proxy) {
		x.after = func(request testenv.Request) bool {
			if request.Resource == "namespaces" && request.IsWrite() {
				p.must("apply", "web", newer)
			}
			return true
		}
	})
	got := p.through(x).clm("apply", "web", older, "--create-namespace", "--cancel-older")
	p.expect(got, exitInterrupted, "release PLACE/web: canceled by a newer apply of ", "The release was not changed. The newer operation was started later")
	if strings.Contains(strings.ToLower(got.stderr), "nothing was changed") {
		t.Errorf("the namespace was created: %s", got.stderr)
	}
	p.expectValues(map[string]string{"a": "2"})
	p.must("delete", "web")
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
