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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/testenv"
)

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
