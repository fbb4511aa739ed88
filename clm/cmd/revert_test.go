// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
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

// TestRevertOfWhatWasReady has a revision fail that was ready, because of what others do, as often as it is applied
// again.
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

// slowPod is the manifest of a pod that is ready when the test says so.
func slowPod(name string) string {
	return "---\n{apiVersion: v1, kind: Pod, metadata: {name: " + name + "}, spec: {terminationGracePeriodSeconds: 0, nodeSelector: {no: such}, " +
		"containers: [{name: main, image: example.com/none}]}}\n"
}

func (p *place) becomesReady(pod string) {
	p.Helper()
	object := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: pod}}
	status := `{"status":{"phase":"Running","conditions":[{"type":"PodScheduled","status":"True"},{"type":"Ready","status":"True"}]}}`
	if err := p.client.Status().Patch(p.Context(), object, client.RawPatch(types.MergePatchType, []byte(status))); err != nil {
		p.Fatal(err)
	}
}

// rejected is a manifest that the API server rejects.
var rejected = strings.Replace(deployment("rejected", "", ""), "matchLabels: {app: ", "matchLabels: {app: not-", 1)

// TestSlowRevisions are those that become ready after those who have applied them have ceased to wait: the next
// revision finds them in use.
func TestSlowRevisions(t *testing.T) {
	t.Parallel()
	for name, apply := range map[string]func(p *place, args ...string) result{
		"Timeout": func(p *place, args ...string) result {
			return p.timesOut("waiting until wave 0 is ready", append([]string{"apply", "web", "--timeout", "10m"}, args...)...)
		},
		"NoWait": func(p *place, args ...string) result {
			return p.clm(append([]string{"apply", "web", "--no-wait"}, args...)...)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			dir := t.TempDir()
			p.write(filepath.Join(dir, "Chart.yaml"), "{apiVersion: v2, name: slow, version: 1.0.0}")
			p.write(filepath.Join(dir, "templates", "all.yaml"), `
{apiVersion: v1, kind: ConfigMap, metadata: {name: once, annotations: {helm.sh/hook: pre-install}}, data: {value: {{ .Values.text }}}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: text}, data: {value: {{ .Values.text }}}}
`)
			pod := p.file("pod.yaml", slowPod("slow"))
			apply(p, dir, pod, "--set", "text=first")
			p.becomesReady("slow")
			p.expect(p.clm("apply", "web", dir, pod, p.file("bad.yaml", rejected), "--set", "text=second", "--revert-on-failure"), 1, "revision 3, is ready")
			p.expectValues(map[string]string{"once": "first", "text": "first"})
			p.expectHistory("Superseded", "Failed", "Ready")

			// Likewise if there is an older one that was ready in time.
			more := p.file("more.yaml", slowPod("more"))
			apply(p, dir, pod, more, "--set", "text=third")
			p.becomesReady("more")
			p.expect(p.clm("apply", "web", dir, pod, more, p.file("bad.yaml", rejected), "--set", "text=fourth", "--revert-on-failure"), 1, "is ready")
			p.expectValues(map[string]string{"once": "first", "text": "third"})
			if diff := cmp.Diff([]string{"more", "slow"}, p.names("v1", "Pod")); diff != "" {
				t.Errorf("what was in use must stay (-want +got):\n%s", diff)
			}
			p.must("delete", "web")
		})
	}
}

// TestRevertDeletesItsOwnOnly is about a release that was never ready, and has revisions of others.
func TestRevertDeletesItsOwnOnly(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.expect(p.timesOut("waiting until wave 0 is ready", "apply", "web", p.file("first.yaml", configMap("a", "1")+slowPod("slow")), "--timeout", "10m"), exitNotReady)
	got := p.clm("apply", "web", p.file("second.yaml", configMap("a", "2")+slowPod("slow")+rejected), "--revert-on-failure")
	p.expect(got, 1, "release PLACE/web was not deleted: it has earlier revisions, whose objects may be in use")
	if p.configMap("a") == nil || len(p.names("v1", "Pod")) != 1 {
		t.Error("what an earlier revision has applied must stay")
	}
	p.must("delete", "web")
}

// TestRevertSparesWhatOthersHaveDone has another client change the release between a failure and its revert.
func TestRevertSparesWhatOthersHaveDone(t *testing.T) {
	t.Parallel()
	for _, installed := range []bool{false, true} {
		t.Run(fmt.Sprint(installed), func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			if installed {
				p.must("apply", "web", p.file("first.yaml", configMap("a", "0")))
			}
			others := p.file("others.yaml", configMap("a", "others")+configMap("b", "others"))
			var released sync.Once
			x := newProxy(t, func(x *proxy) {
				x.after = func(request testenv.Request) bool {
					// The lock is given back before what has failed is undone.
					if request.Resource == "leases" && request.Method == http.MethodDelete {
						released.Do(func() { p.must("apply", "web", others) })
					}
					return true
				}
			})
			got := p.through(x).clm("apply", "web", p.file("bad.yaml", configMap("a", "1")+rejected), "--revert-on-failure")
			p.expect(got, 1, "another client has changed release PLACE/web since revision", "nothing was reverted")
			p.expectValues(map[string]string{"a": "others", "b": "others"})
			if state := p.state("web"); state != "Ready" {
				t.Errorf("want what the other one has done to stay, got state %s", state)
			}
			p.must("delete", "web")
		})
	}
}
