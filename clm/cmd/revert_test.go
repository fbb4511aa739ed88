// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/testenv"
)

// TestRevertOfTheFirstRevision deletes what was never installed, and nothing else.
func TestRevertOfTheFirstRevision(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	good := configMap("a", "1")
	bad := p.file("bad.yaml", good+"---"+strings.Replace(twoWaves, "matchLabels: {app: web}", "matchLabels: {app: other}", 1))
	p.expect(p.clm("apply", "web", bad, "--revert-on-failure"), 1, "release PLACE/web was deleted", "revision 1 has failed; the release was deleted\n")
	if got := p.names("v1", "ConfigMap"); len(got) > 0 {
		t.Errorf("left behind: %v", got)
	}

	p.must("apply", "web", p.file("app.yaml", good))
	index := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: "clm.web"}}
	p.forget()
	if err := p.client.Delete(t.Context(), index); err != nil {
		t.Fatal(err)
	}
	p.must("doctor", "web", "--fix")
	for range 2 {
		p.expect(p.clm("apply", "web", bad, "--revert-on-failure"), 1, "release PLACE/web was not deleted: it was first applied by an earlier revision")
		if value := p.configMap("a")["value"]; value != "1" {
			t.Errorf("want what was installed before to stay, got %q", value)
		}
	}
	p.must("delete", "web")
}

// TestRevertOfADerivedFirstRevision: a revision that was made from the first one by handing over an object is no more an upgrade than that.
func TestRevertOfADerivedFirstRevision(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	bad := inVain(job("bad", "update-policy", "recreate"))
	p.expect(p.clm("apply", "web", p.file("app.yaml", configMap("a", "1")+configMap("b", "1")+bad)), exitNotReady)
	p.expect(p.clm("orphan", "web", "ConfigMap/b"), exitNotReady)
	got := p.clm("apply", "web", p.file("app.yaml", configMap("a", "1")+bad), "--revert-on-failure")
	p.expect(got, exitNotReady, "release PLACE/web, revision 2: failed", "Job PLACE/bad", "release PLACE/web was deleted")
	if p.configMap("a") != nil || p.configMap("b") == nil {
		t.Error("want the release to be deleted, and what was orphaned to stay")
	}
}

// TestRevertKeepsWhatWasAdopted deletes only what clm has created.
func TestRevertKeepsWhatWasAdopted(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	theirs := func(name string) *corev1.ConfigMap {
		t.Helper()
		object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: name}, Data: map[string]string{"value": "theirs"}}
		if err := p.client.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
		return object
	}
	bad := "---" + strings.Replace(twoWaves, "matchLabels: {app: web}", "matchLabels: {app: other}", 1)
	expectKept := func(name string) {
		t.Helper()
		object := &corev1.ConfigMap{}
		if err := p.client.Get(t.Context(), client.ObjectKey{Namespace: p.namespace, Name: name}, object); err != nil {
			t.Fatal(err)
		}
		if object.DeletionTimestamp != nil || len(object.Labels) > 0 {
			t.Errorf("want it to belong to nobody again, got labels %v", object.Labels)
		}
	}

	theirs("theirs")
	source := p.file("first.yaml", configMap("theirs", "1")+configMap("ours", "1")+bad)
	p.expect(p.clm("apply", "web", source, "--revert-on-failure"), 1, "release PLACE/web was deleted", "These objects existed before the release")
	expectKept("theirs")
	err := p.client.Get(t.Context(), client.ObjectKey{Namespace: p.namespace, Name: "ours"}, &corev1.ConfigMap{})
	if !apierrors.IsNotFound(err) {
		t.Errorf("want what was created to be deleted, got %v", err)
	}

	// The attempt that fails finally is not the one that has adopted.
	p.awaitSecondAfter(theirs("older").CreationTimestamp)
	source = p.file("second.yaml", configMap("older", "1")+configMap("ours", "1")+bad)
	p.expect(p.clm("apply", "web", source), 1)
	p.expect(p.clm("apply", "web", source, "--revert-on-failure"), 1, "release PLACE/web was deleted")
	expectKept("older")

	// Nothing was changed of what belongs to another release.
	p.must("apply", "owner", p.file("owner.yaml", configMap("shared", "1")))
	p.awaitSecondAfter(theirs("between").CreationTimestamp)
	source = p.file("shared.yaml", configMap("shared", "2")+configMap("ours", "1"))
	p.expect(p.clm("apply", "web", source), exitRefused)
	got := p.expect(p.clm("apply", "web", source, "--revert-on-failure"), exitRefused, "release PLACE/web was deleted", "note: ConfigMap PLACE/shared: belongs to release PLACE/owner, and is left alone")
	if strings.Contains(got.stderr, "with its changes") {
		t.Errorf("want nothing to be said about changes of an object that was refused: %s", got.stderr)
	}
	p.must("delete", "owner")

	p.must("apply", "web", p.file("good.yaml", configMap("ours", "1")))
	theirs("third")
	source = p.file("third.yaml", configMap("third", "1")+configMap("ours", "2")+bad)
	p.expect(p.clm("apply", "web", source, "--revert-on-failure"), 1, "release PLACE/web, revision 3, is ready", "revision 2 has failed; in force is revision 3, with the objects of revision 1\n")
	expectKept("third")
	if value := p.configMap("ours")["value"]; value != "1" {
		t.Errorf("want the last revision that was ready, got %q", value)
	}
	p.must("delete", "web")
}

// awaitSecondAfter waits until objects that the API server creates are younger: their age has whole seconds.
func (p *place) awaitSecondAfter(created metav1.Time) {
	p.Helper()
	testenv.Eventually(p, func() (bool, string) {
		probe := &corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, GenerateName: "probe-"}, InvolvedObject: corev1.ObjectReference{Namespace: p.namespace}}
		if err := p.client.Create(p.Context(), probe); err != nil {
			return false, err.Error()
		}
		return created.Before(&probe.CreationTimestamp), "it is still the same second"
	})
}

// TestRevertOfWhatWasReady has a revision fail that was ready, because of what others do, as often as it is applied again.
func TestRevertOfWhatWasReady(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	source := p.file("app.yaml", configMap("one", "1")+configMap("two", "1"))
	p.must("apply", "web", source)
	p.steal("one")
	for range 3 {
		p.change("two", "2")
		p.expect(p.clm("apply", "web", source, "--revert-on-failure"), exitRefused, "has another owner")
		p.expectHistory("Ready")
		if p.configMap("two") == nil {
			t.Fatal("want what was ready neither to be deleted nor to be replaced")
		}
	}
	p.must("delete", "web")
}

// TestRevertNamesWhatItWrites has a revision refused before the objects of its second wave are written.
func TestRevertNamesWhatItWrites(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	second := func(value string) string {
		return strings.Replace(configMap("second", value), "{name: second}", `{name: second, annotations: {clm.cs.sap.com/apply-order: "1"}}`, 1)
	}
	good, bad := p.file("good.yaml", configMap("first", "1")+second("1")), p.file("bad.yaml", configMap("first", "2")+rejected+second("2"))
	p.must("apply", "web", good)
	got := p.clm("apply", "web", bad, "--revert-on-failure")
	p.expect(got, 1, "release PLACE/web, revision 3, is ready (1 updated, 1 unchanged, ")
	if strings.Contains(got.stderr, "second: updated") {
		t.Errorf("an object that was never written is not updated: %s", got.stderr)
	}
	p.expect(p.clm("apply", "web", bad), 1)
	if plan := p.must("plan", "web", good).stdout; !strings.Contains(plan, "\n1 to update, ") || strings.Contains(plan, "second") {
		t.Errorf("want a plan that knows what it changes, got %s", plan)
	}
	p.must("delete", "web")
}

// TestRevertAdvisesNothingElse neither tells to go on with what is being reverted, nor keeps back what helps if it is not.
func TestRevertAdvisesNothingElse(t *testing.T) {
	t.Parallel()
	const advice = "To keep waiting, run the same command again"
	var p *place
	var bad string
	var got result
	// The revert has as much time.
	timeout := inTime(func(timeout string) bool {
		p = newPlace(t)
		bad = p.file("bad.yaml", configMap("a", "2")+deployment("web", neverReady, ""))
		p.must("apply", "web", p.file("good.yaml", configMap("a", "1")))
		got = p.clm("apply", "web", bad, "--timeout", timeout, "--revert-on-failure")
		return strings.Contains(got.stderr, "is ready")
	})
	p.expect(got, exitNotReady, "timed out after "+timeout, "release PLACE/web, revision 3, is ready")
	if strings.Contains(got.stderr, advice) {
		t.Errorf("what is reverted must not be gone on with: %s", got.stderr)
	}
	p.expect(p.timesOut("waiting until wave 0 is ready", "apply", "web", bad, "--timeout", "10m"), exitNotReady, advice)
	p.must("delete", "web")
}

// TestRevertThatDoesNotBecomeReady says how to go on with what takes the place of a failed revision, and how to return from a rollback to one that has failed. The same command
// would apply what has failed once more.
func TestRevertThatDoesNotBecomeReady(t *testing.T) {
	t.Parallel()
	const timeout, again = "4s", "run the same command again"
	p := newPlace(t)
	p.readyBehindGate()
	got := p.expect(p.clm("apply", "web", p.gated("2"), "--revert-on-failure", "--timeout", timeout), exitNotReady, "revision 3: timed out", "To return to revision 1: clm rollback web 1 -n PLACE\n")
	if strings.Contains(got.stderr, again) {
		t.Errorf("what was reverted must not be gone on with: %s", got.stderr)
	}
	p.expect(p.clm("rollback", "web", "2", "--timeout", timeout), exitNotReady, again, "To return to revision 1: clm rollback web 1 -n PLACE\n")
	got = p.expect(p.clm("rollback", "web", "1", "--timeout", timeout), exitNotReady, again)
	if strings.Contains(got.stderr, "To return to revision 1") {
		t.Errorf("want no advice to do what was just done: %s", got.stderr)
	}
	p.openGate()
	p.must("rollback", "web", "1")
	p.must("delete", "web")

	const held = "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: held, finalizers: [example.com/test]}}\n"
	got = p.expect(p.clm("apply", "web", p.file("held.yaml", gate+held), "--revert-on-failure", "--timeout", timeout), exitNotReady,
		"release PLACE/web was not deleted: timed out", "To continue: clm delete web -n PLACE\n")
	if strings.Contains(got.stderr, again) {
		t.Errorf("clm apply would be refused: %s", got.stderr)
	}
	p.as("somebody", configMapKind, "held", `{"metadata":{"finalizers":null}}`)
	p.must("delete", "web")
}

// TestInterruptBeforeTheRevert interrupts a command between a failure and its revert: it ends like any other that is interrupted, and says what is left to be done.
func TestInterruptBeforeTheRevert(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	good := configMap("a", "1")
	bad := p.file("bad.yaml", good+"---"+strings.Replace(twoWaves, "matchLabels: {app: web}", "matchLabels: {app: other}", 1))
	for _, want := range []string{"interrupted before revision 1 was reverted; to delete the release: clm delete web -n PLACE", "interrupted before revision 3 was reverted; to return to revision 2: clm rollback web 2 -n PLACE"} {
		for moment, isMoment := range map[string]func(request testenv.Request) bool{
			"the lock is given back":         func(request testenv.Request) bool { return isLease(request) && request.Method == http.MethodDelete },
			"the revert reads what is there": func(request testenv.Request) bool { return request.Resource == "secrets" && !request.IsWrite() },
		} {
			ctx, interrupt := context.WithCancel(t.Context())
			failed := &atomic.Bool{}
			x := newProxy(t, func(x *proxy) {
				x.after = func(request testenv.Request) bool {
					if isLease(request) && request.Method == http.MethodDelete {
						failed.Store(true)
					}
					if failed.Load() && isMoment(request) {
						interrupt()
					}
					return true
				}
			})
			got := p.through(x).clmContext(ctx, "apply", "web", bad, "--revert-on-failure")
			interrupt()
			p.expect(got, exitInterrupted, want)
			if t.Failed() {
				t.Fatal(moment)
			}
		}
		p.must("apply", "web", p.file("good.yaml", good))
	}
	p.must("delete", "web")
}

// TestInterruptAsTheRevertBegins interrupts a command when it has the lock for the revert of a first installation, or reads the record.
func TestInterruptAsTheRevertBegins(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	bad := strings.Replace(twoWaves, "matchLabels: {app: web}", "matchLabels: {app: other}", 1)
	for _, tc := range []struct {
		reads, adopts bool
		want          string
	}{
		{false, false, "To delete the release: clm delete web -n PLACE"},
		{true, false, "To delete the release: clm delete web -n PLACE"},
		{false, true, "To keep the objects that existed before the release, do not delete it: fix the sources and apply them again"},
	} {
		if tc.adopts {
			p.create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}})
		}
		ctx, interrupt := context.WithCancel(t.Context())
		locks := &atomic.Int32{}
		x := newProxy(t, func(x *proxy) {
			x.before = func(request testenv.Request) bool {
				if locks.Load() == 2 && request.Resource == "secrets" {
					interrupt()
				}
				return true
			}
			x.after = func(request testenv.Request) bool {
				if acquires(request) && locks.Add(1) == 2 && !tc.reads {
					interrupt()
				}
				return true
			}
		})
		got := p.through(x).clmContext(ctx, "apply", "web", p.file("bad.yaml", configMap("a", "1")+"---"+bad), "--revert-on-failure")
		interrupt()
		p.expect(got, exitInterrupted, "release PLACE/web was not deleted: interrupted", tc.want)
		if strings.Contains(got.stderr, "run the same command again") {
			t.Errorf("the same command would apply the failed revision again:\n%s", got.stderr)
		}
		p.must("delete", "web")
	}
}
