// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// owner returns the owner id of a ConfigMap, as far as it is marked as owned; "none" if it does not exist.
func (p *place) owner(name string) string {
	p.Helper()
	object := &corev1.ConfigMap{}
	err := p.client.Get(p.Context(), client.ObjectKey{Namespace: p.namespace, Name: name}, object)
	if client.IgnoreNotFound(err) != nil {
		p.Fatal(err)
	}
	switch {
	case err != nil:
		return "none"
	case object.Labels["clm.cs.sap.com/owner-id"] == "":
		return ""
	default:
		return strings.TrimPrefix(object.Annotations["clm.cs.sap.com/owner-id"], "clm.cs.sap.com/"+p.namespace+"/")
	}
}

// manifestOf is a manifest of ConfigMaps by these names, each with its name as value.
func manifestOf(names ...string) string {
	var documents []string
	for _, name := range names {
		documents = append(documents, "{apiVersion: v1, kind: ConfigMap, metadata: {name: "+name+"}, data: {value: "+name+"}}")
	}
	return strings.Join(documents, "\n---\n")
}

// descriptions are those of all revisions.
func (p *place) descriptions(release string) []string {
	p.Helper()
	var texts []string
	for _, revision := range p.items(p.must("history", release, "-o", "json").stdout) {
		texts = append(texts, p.stable(p.text(revision, "status", "state")+": "+p.text(revision, "status", "description")))
	}
	return texts
}

func TestAdopt(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.must("apply", "other", p.file("other.yaml", manifestOf("theirs")))
	source := p.file("app.yaml", manifestOf("theirs", "mine"))
	if got := p.clm("apply", "web", source); got.code == 0 || !strings.Contains(got.stderr, "belongs to release") {
		t.Fatalf("expected that theirs is refused, got exit code %d: %s", got.code, got.stderr)
	}
	for _, test := range []struct{ reason, object, message string }{
		{"what is not rendered must not be taken over", "configmap/kube-root-ca.crt", "object configmap/kube-root-ca.crt"},
		{"a name alone could be anything", "theirs", "invalid object"},
	} {
		got := p.clm("adopt", "web", test.object)
		if got.code == 0 || !strings.Contains(got.stderr, test.message) {
			t.Errorf("%s: got exit code %d: %s", test.reason, got.code, got.stderr)
		}
	}
	if got := p.clm("adopt", "web", "cm/kube-root-ca.crt"); got.code != exitRefused {
		t.Errorf("expected exit code %d, got %d", exitRefused, got.code)
	}
	got := p.must("adopt", "web", "cm/theirs", "--dry-run=server")
	expectGolden(t, "adopt-plan.txt", p.stable(got.stdout))
	if p.owner("theirs") != "other" {
		t.Error("a dry run has changed the owner")
	}
	p.must("adopt", "web", "cm/theirs")
	if owners := p.owner("theirs") + " " + p.owner("mine"); owners != "web web" {
		t.Errorf("unexpected owners: %s", owners)
	}
	if diff := cmp.Diff([]string{"Ready: applied"}, p.descriptions("web")); diff != "" {
		t.Errorf("adopting is no new revision: %s", diff)
	}
	p.must("delete", "other")
	p.must("delete", "web")
}

func TestAdoptObjectsWithoutAnOwner(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	object := &corev1.ConfigMap{Data: map[string]string{"value": "old", "more": "theirs"}}
	object.Namespace, object.Name = p.namespace, "one"
	if err := p.client.Create(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	source := p.file("app.yaml", strings.Replace(manifestOf("one"), "name: one", `name: one, annotations: {clm.cs.sap.com/adoption-policy: never, clm.cs.sap.com/update-policy: recreate}`, 1))
	if got := p.clm("apply", "web", source); got.code == 0 || p.owner("one") != "" {
		t.Fatalf("expected a refusal, got exit code %d: %s", got.code, got.stderr)
	}
	p.must("adopt", "web", "ConfigMap/one")
	adopted := &corev1.ConfigMap{}
	if err := p.client.Get(t.Context(), client.ObjectKeyFromObject(object), adopted); err != nil {
		t.Fatal(err)
	}
	if adopted.UID != object.UID || p.owner("one") != "web" || adopted.Data["value"] != "one" {
		t.Errorf("expected the same object, with the content of the manifest, got %v", adopted)
	}
	p.must("delete", "web")
}

// TestOrphanAll lets go of everything, including a hook that is there and one that has completed. Nothing is deleted
// with the release.
func TestOrphanAll(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	hook := "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: hook, annotations: {clm.cs.sap.com/deletion-hook: pre-delete}}}\n"
	source := p.file("app.yaml", manifestOf("one", "two")+job("there")+job("completed", "purge-order", "1")+hook)
	p.must("apply", "web", source)
	for want, args := range map[string][]string{
		"NAME is missing": {"orphan", "--all"},
		"OBJECT... is missing; --all orphans all objects of the release": {"orphan", "web"},
		"OBJECT is not allowed: --all orphans all objects":               {"orphan", "web", "cm/one", "--all"},
	} {
		p.expect(p.clm(args...), 1, want)
	}
	p.expect(p.must("orphan", "web", "--all", "--dry-run"), 0, "= ConfigMap PLACE/one", "= ConfigMap PLACE/two", "= Job PLACE/there", "3 to orphan")
	p.expect(p.must("orphan", "web", "--all"), 0, "(3 orphaned")
	if diff := cmp.Diff([]string{"Superseded: applied", "Ready: orphaned all objects"}, p.descriptions("web")); diff != "" {
		t.Error(diff)
	}
	p.expect(p.must("orphan", "web", "--all"), 0, "is up to date")
	if got := p.must("delete", "web"); strings.Contains(got.stderr, "ConfigMap "+p.namespace+"/hook") {
		t.Errorf("want no deletion hook to run against objects of others, got %s", got.stderr)
	}
	left := &batchv1.JobList{}
	if err := p.client.List(t.Context(), left, client.InNamespace(p.namespace)); err != nil {
		t.Fatal(err)
	}
	if len(left.Items) != 1 || left.Items[0].Name != "there" || p.configMap("one") == nil || p.configMap("two") == nil || p.owner("one")+p.owner("two") != "" {
		t.Errorf("want the ConfigMaps and Job there, without an owner; there are %v, %v and the Jobs %v", p.configMap("one"), p.configMap("two"), left.Items)
	}
}

func TestMove(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	once := "{apiVersion: v1, kind: ConfigMap, metadata: {name: once, annotations: {clm.cs.sap.com/reconcile-policy: once}}, data: {value: first}}"
	p.must("apply", "a", p.file("a.yaml", manifestOf("one", "two")+"\n---\n"+once), "--update-policy", "replace")
	p.must("apply", "b", p.file("b.yaml", manifestOf("three")))
	p.as("somebody", configMapKind, "once", `{"data":{"value":"changed"}}`)
	if got := p.clm("move", "cm/three", "--from", "a", "--to", "c"); got.code != 1 || !strings.Contains(got.stderr, ": not found; existing releases: ") {
		t.Errorf("expected that there is no such release, got exit code %d: %s", got.code, got.stderr)
	}
	if got := p.clm("move", "cm/four", "--from", "a", "--to", "b"); got.code != exitRefused {
		t.Errorf("expected exit code %d, got %d: %s", exitRefused, got.code, got.stderr)
	}
	expectGolden(t, "move-plan.txt", p.stable(p.must("move", "cm/one", "cm/once", "--from", "a", "--to", "b", "--dry-run=server").stdout))
	before := p.uids("one", "once")
	p.expect(p.clm("move", "cm/one", "cm/once", "--from", "a", "--to", "b"), 0, "moved 2 objects from release PLACE/a to release PLACE/b")
	if owners := p.owner("one") + p.owner("two") + p.owner("three") + p.owner("once"); owners != "babb" {
		t.Errorf("unexpected owners: %s", owners)
	}
	if diff := cmp.Diff(before, p.uids("one", "once")); diff != "" {
		t.Errorf("objects were recreated: %s", diff)
	}
	if diff := cmp.Diff(map[string]string{"value": "changed"}, p.configMap("once")); diff != "" {
		t.Errorf("what is applied once must keep its content: %s", diff)
	}
	if diff := cmp.Diff([]string{"Superseded: applied", "Ready: moved to release PLACE/b: ConfigMap PLACE/one, ConfigMap PLACE/once"}, p.descriptions("a")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"Superseded: applied", "Ready: moved from release PLACE/a: ConfigMap PLACE/one, ConfigMap PLACE/once"}, p.descriptions("b")); diff != "" {
		t.Error(diff)
	}
	if manifest := p.must("get", "manifest", "b").stdout; !strings.Contains(manifest, "update-policy: replace") {
		t.Errorf("the policies of the former release must travel with the object: %s", manifest)
	}
	p.must("drift", "a", "--exit-code")
	p.must("drift", "b", "--exit-code")
	// What was done already is done again without harm.
	p.expect(p.clm("move", "cm/one", "--from", "a", "--to", "b"), 0, "nothing left to move from release PLACE/a to release PLACE/b")
	p.must("delete", "a")
	if owners := p.owner("one") + p.owner("two"); owners != "bnone" {
		t.Errorf("unexpected owners: %s", owners)
	}
	p.must("delete", "b")
	if owners := p.owner("one"); owners != "none" {
		t.Errorf("unexpected owner: %s", owners)
	}
}

// uids returns the UIDs of ConfigMaps.
func (p *place) uids(names ...string) map[string]string {
	p.Helper()
	uids := map[string]string{}
	for _, name := range names {
		object := &corev1.ConfigMap{}
		if err := p.client.Get(p.Context(), client.ObjectKey{Namespace: p.namespace, Name: name}, object); err != nil {
			p.Fatal(err)
		}
		uids[name] = string(object.UID)
	}
	return uids
}

// TestOppositeMoves lets two processes hand over at once what would deadlock if each of them locked its own side first.
func TestOppositeMoves(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.must("apply", "a", p.file("a.yaml", manifestOf("one", "a")))
	p.must("apply", "b", p.file("b.yaml", manifestOf("two", "b")))
	var wait sync.WaitGroup
	results := make([]result, 2)
	for i, args := range [][]string{{"cm/one", "--from", "a", "--to", "b"}, {"cm/two", "--from", "b", "--to", "a"}} {
		wait.Go(func() { results[i] = p.clm(append([]string{"move"}, args...)...) })
	}
	wait.Wait()
	for _, got := range results {
		if got.code != 0 {
			t.Errorf("exit code %d: %s", got.code, got.stderr)
		}
	}
	if owners := p.owner("one") + p.owner("two"); owners != "ba" {
		t.Errorf("unexpected owners: %s", owners)
	}
	p.must("delete", "a")
	p.must("delete", "b")
}

// TestAdoptionIsNotRepeated is about consent to take objects from others, which is given for one operation: when the
// objects have been handed over since, neither a rollback nor a repair takes them again.
func TestAdoptionIsNotRepeated(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.must("apply", "old", p.file("old.yaml", manifestOf("shared")))
	both, own := p.file("app.yaml", manifestOf("shared", "own")), p.file("app.yaml", manifestOf("own"))
	p.expect(p.clm("apply", "shop", both, "--adopt", "always"), 0, "ConfigMap PLACE/shared: adopted")
	p.expect(p.clm("apply", "shop", both), 0, "revision 1, is up to date")
	p.must("apply", "web", p.file("web.yaml", manifestOf("other")))
	p.must("move", "cm/shared", "--from", "shop", "--to", "web")
	p.must("apply", "shop", own)

	const refusal = "ConfigMap PLACE/shared: already exists and belongs to release PLACE/web"
	for _, args := range [][]string{{"1"}, {"1", "--adopt", "if-unowned"}, {"1", "--adopt", "never"}} {
		p.expect(p.clm(append([]string{"rollback", "shop"}, args...)...), exitRefused, refusal, "'clm apply --adopt always' adopts an object")
	}
	if owner := p.owner("shared"); owner != "web" {
		t.Fatalf("want release web to keep what it has, got owner %q", owner)
	}
	p.expect(p.clm("rollback", "shop", "1", "--adopt", "always"), 0, "ConfigMap PLACE/shared: adopted")

	// Nor does a repair.
	p.must("adopt", "web", "cm/shared")
	p.expect(p.clm("drift", "shop", "--correct"), exitRefused, "all corrections are refused")
	if owner := p.owner("shared"); owner != "web" {
		t.Fatalf("want release web to keep what it has, got owner %q", owner)
	}
	// A saved plan has it.
	plan := filepath.Join(t.TempDir(), "plan")
	p.must("plan", "shop", both, "--adopt", "always", "--out", plan)
	p.expect(p.clm("apply", "shop", "--plan", plan), 0, "ConfigMap PLACE/shared: adopted")
}
