// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// A chart whose hooks write into ConfigMaps which revision they ran for. What a hook is runs at each event anew, so its
// content tells.
const hooksTemplate = `{{- range $event := list "pre-install" "pre-upgrade" "post-rollback" }}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: {{ $event }}, annotations: {helm.sh/hook: {{ $event }}}}
data: {value: {{ $.Values.text | quote }}}
{{- end }}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: regular}
data: {value: {{ .Values.text | quote }}}
`

// At a rollback, hooks of rollbacks are applied; those of installations and upgrades that the revision has stay as they
// are, and none is created. What the revision does not have goes, as at any change.
func TestHooksOfARollback(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	dir := t.TempDir()
	p.write(filepath.Join(dir, "Chart.yaml"), "{apiVersion: v2, name: hooks, version: 1.0.0}")
	p.write(filepath.Join(dir, "templates", "all.yaml"), hooksTemplate)
	p.must("apply", "web", dir, "--set", "text=first")
	p.expectValues(map[string]string{"regular": "first", "pre-install": "first"})
	p.must("rollback", "web", "1")
	p.expectValues(map[string]string{"regular": "first", "pre-install": "first", "post-rollback": "first"})
	p.must("apply", "web", dir, "--set", "text=second")
	p.expectValues(map[string]string{"regular": "second", "pre-install": "first", "pre-upgrade": "second"})
	p.must("rollback", "web", "1")
	p.expectValues(map[string]string{"regular": "first", "pre-install": "first", "post-rollback": "first"})
	p.must("delete", "web")
	p.expectValues(map[string]string{})
}

// expectValues compares the values of all ConfigMaps of releases.
func (p *place) expectValues(want map[string]string) {
	p.Helper()
	got := map[string]string{}
	for _, name := range p.names("v1", "ConfigMap") {
		got[name] = p.configMap(name)["value"]
	}
	if diff := cmp.Diff(want, got); diff != "" {
		p.Errorf("(-want +got):\n%s", diff)
	}
}

// TestRollbackGoesOn is about a rollback that has not become ready: repeating it must not return to the revision that
// it left.
func TestRollbackGoesOn(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	claim := "---\napiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: slow}\n" +
		"spec: {accessModes: [ReadWriteOnce], storageClassName: none, resources: {requests: {storage: 1Gi}}}\n"
	p.must("apply", "web", p.file("app.yaml", configMap("one", "good")+claim), "--no-wait")
	p.must("apply", "web", p.file("app.yaml", configMap("one", "bad")))
	for _, args := range [][]string{{"rollback", "web", "1"}, {"rollback", "web"}, {"rollback", "web", "1"}} {
		if got := p.timesOut("waiting until wave 0 is ready", append(args, "--timeout", "10m")...); got.code != exitNotReady {
			t.Errorf("%v: want exit code %d, got %+v", args, exitNotReady, got)
		}
		if value := p.configMap("one")["value"]; value != "good" {
			t.Errorf("%v: want what the rollback leads to, got %s", args, value)
		}
	}
	var revisions []string
	for _, revision := range p.items(p.must("history", "web", "-o", "json").stdout) {
		revisions = append(revisions, p.text(revision, "status", "description"))
	}
	if diff := cmp.Diff([]string{"applied", "applied", "rolled back to revision 1"}, revisions); diff != "" {
		t.Error(diff)
	}
	p.must("delete", "web", "-y")
}

// theirs creates ConfigMaps that were there before.
func (p *place) theirs(names ...string) {
	p.Helper()
	for _, name := range names {
		p.create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"value": "theirs"}})
	}
}

// expectNobodys checks that a ConfigMap exists and has no owner.
func (p *place) expectNobodys(reason, name string) {
	p.Helper()
	object := &corev1.ConfigMap{}
	if err := p.client.Get(p.Context(), client.ObjectKey{Namespace: p.namespace, Name: name}, object); err != nil {
		p.Errorf("%s: %v", reason, err)
	} else if object.DeletionTimestamp != nil || len(object.Labels) > 0 {
		p.Errorf("%s: want %s to belong to nobody again, got labels %v", reason, name, object.Labels)
	}
}

// TestRollbackKeepsWhatWasAdopted is about objects that were there before their release had them, be it that the
// revision has failed which adopted them or not: returning to an earlier revision does not delete them.
func TestRollbackKeepsWhatWasAdopted(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	const kept = "These objects existed before the release"
	first := p.file("first.yaml", configMap("ours", "1")+configMap("also", "1"))
	failing := configMap("ours", "2") + configMap("new", "2") + failingJobs(job("bad", "update-policy", "recreate"))
	p.must("apply", "web", first)

	// In the same second as the revision begins, so that its age does not tell.
	p.theirs("failed")
	bad := p.file("bad.yaml", failing+configMap("failed", "2"))
	p.expect(p.clm("apply", "web", bad), exitNotReady, "Job PLACE/bad")
	got := p.clm("apply", "web", bad, "--revert-on-failure")
	p.expect(got, exitNotReady, "release PLACE/web, revision 3, is ready", kept+", and were kept, with its changes: ConfigMap PLACE/failed")
	p.expectNobodys("an attempt before the one that failed finally has adopted it", "failed")

	p.theirs("later")
	p.expect(p.clm("apply", "web", p.file("bad.yaml", failing)), exitNotReady)
	p.expect(p.clm("apply", "web", p.file("bad.yaml", failing+configMap("later", "2"))), exitNotReady)
	p.expect(p.clm("rollback", "web", "-y"), 0, kept, "ConfigMap PLACE/later")
	p.expectNobodys("a revision that has failed has adopted it", "later")

	p.theirs("ready")
	p.must("apply", "web", p.file("good.yaml", configMap("ours", "3")+configMap("new", "3")+configMap("ready", "3")))
	if plan := p.must("rollback", "web", "1", "--dry-run=client").stdout; !strings.Contains(p.stable(plan), "ConfigMap PLACE/ready  (orphan: is no longer in the manifests)") {
		t.Errorf("want the plan to say that it stays, got %s", plan)
	}
	p.expect(p.clm("rollback", "web", "1", "-y"), 0, kept, "ConfigMap PLACE/ready")
	p.expectNobodys("a revision that was ready has adopted it", "ready")
	if owners := p.owner("ours") + p.owner("also") + " " + p.owner("new"); owners != "webweb none" {
		t.Errorf("what was created goes, and what the revision has stays; got %s", owners)
	}

	// Leaving it out of the sources is a decision, and deletes it, as for any other dependent.
	p.must("apply", "web", p.file("good.yaml", configMap("ours", "3")+configMap("ready", "3")))
	p.must("apply", "web", first)
	if owner := p.owner("ready"); owner != "none" {
		t.Errorf("want it to be deleted, got owner %q", owner)
	}
	p.must("delete", "web")
}

// TestRevertKeepsWhatWasHandedOver is about an object that a release has taken over from another one, and not become
// ready since.
func TestRevertKeepsWhatWasHandedOver(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.must("apply", "shop", p.file("shop.yaml", manifestOf("moved", "stays")))
	p.must("apply", "web", p.file("web.yaml", manifestOf("own")))
	p.expect(p.timesOut("waiting until wave 0 is ready", "apply", "web", p.file("web.yaml", manifestOf("own")+"\n"+slowPod("slow")), "--timeout", "10m"), exitNotReady)
	p.expect(p.clm("move", "cm/moved", "--from", "shop", "--to", "web", "--timeout", "10s"), 0)
	if owner := p.owner("moved"); owner != "web" {
		t.Fatalf("unexpected owner %q", owner)
	}
	source := p.file("web.yaml", manifestOf("own", "moved")+failingJobs(job("bad", "update-policy", "recreate")))
	p.expect(p.clm("apply", "web", source, "--revert-on-failure"), exitNotReady, "Job PLACE/bad", "ConfigMap PLACE/moved")
	p.expectNobodys("it was handed over after the revision that was ready", "moved")
	p.must("delete", "web")
	p.must("delete", "shop")
}

// TestDeathBeforeARevert kills the first attempt to apply a revision at each of its writes: whatever it came to adopt
// is not deleted when a later attempt is reverted, and what it came to create is.
func TestDeathBeforeARevert(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	m := newMortal(t)
	for k := 1; !t.Failed(); k++ {
		name := func(text string) string { return fmt.Sprintf("%s%d", text, k) }
		release := name("r")
		p.must("apply", release, p.file("good.yaml", configMap(name("ours"), "1")))
		p.theirs(name("theirs"))
		next := configMap(name("ours"), "2") + configMap(name("new"), "2") + configMap(name("theirs"), "2")
		if !m.run(p, k, "apply", release, p.file("next.yaml", next)) || len(p.descriptions(release)) == 2 && p.state(release) == "Ready" {
			// Then it is the last revision that was ready.
			break
		}
		bad := p.file("bad.yaml", next+strings.Replace(deployment(release, "", ""), "matchLabels: {app: ", "matchLabels: {app: not-", 1))
		p.expect(p.clm("apply", release, bad, "--revert-on-failure"), 1, "rejected by the API server", "is ready")
		p.expectNobodys("it was there before", name("theirs"))
		if owners := p.owner(name("ours")) + " " + p.owner(name("new")); owners != release+" none" {
			t.Errorf("unexpected owners: %s", owners)
		}
		if t.Failed() {
			t.Logf("killed at write %d", k)
		}
		p.must("delete", release)
	}
}
