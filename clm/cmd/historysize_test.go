// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestHistoryHasALimitOfBytes has revisions of which each takes more than 40 kB in the cluster, because they have nothing in common.
func TestHistoryHasALimitOfBytes(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	apply := func(revision uint64, args ...string) {
		t.Helper()
		random := rand.New(rand.NewPCG(revision, 0))
		text := strings.Builder{}
		for text.Len() < 90_000 {
			_, _ = fmt.Fprintf(&text, "%016x", random.Uint64())
		}
		p.must(append([]string{"apply", "web", p.file("app.yaml", configMap("a", text.String()))}, args...)...)
	}
	revisions := func() string {
		return p.must("history", "web", "-o", "jsonpath={.items[*].status.number}").stdout
	}
	for revision := range uint64(4) {
		apply(revision + 1)
	}
	for i, step := range []struct{ reason, flags, want string }{
		{"no limit", "--history-max-bytes=0", "1 2 3 4 5"},
		{"the oldest go first", "--history-max-bytes=150Ki", "4 5 6"},
		{"the number of revisions is limited as well", "--history-max-bytes=10Mi --history-max=2", "6 7"},
		{"the current one stays, however large it is", "--history-max-bytes=1", "8"},
		{"a unit of another kind", "--history-max-bytes=0.2M", "8 9"},
	} {
		if apply(uint64(i+5), strings.Fields(step.flags)...); revisions() != step.want { //nolint:gosec // it is an index
			t.Errorf("%s: want revisions %s, got %s", step.reason, step.want, revisions())
		}
	}
	p.must("rollback", "web", "8")
	p.expect(p.clm("rollback", "web", "1"), exitRefused, "has no revision 1; to list its revisions: clm history web")
}

// TestSecretsOfRecordsCanBeLeftOut lists what is left without the Secrets of records, as kubectl get secrets -l '!clm.cs.sap.com/record' does.
func TestSecretsOfRecordsCanBeLeftOut(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	secret := "apiVersion: v1\nkind: Secret\nmetadata: {name: own}\nstringData: {revision: %q}\n"
	for revision := range 3 {
		p.must("apply", "web", p.file("app.yaml", fmt.Sprintf(secret, fmt.Sprint(revision))))
	}
	selector, err := labels.Parse("!clm.cs.sap.com/record")
	if err != nil {
		t.Fatal(err)
	}
	list := &corev1.SecretList{}
	if err := p.client.List(t.Context(), list, client.InNamespace(p.namespace), client.MatchingLabelsSelector{Selector: selector}); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, secret := range list.Items {
		names = append(names, secret.Name)
	}
	slices.Sort(names)
	if diff := cmp.Diff([]string{"own"}, names); diff != "" || len(p.secrets()) < 3 {
		t.Errorf("want no Secret of the record, of which there are %d (-want +got):\n%s", len(p.secrets())-1, diff)
	}
}

// TestFullIndexIsPrunedWhileItIsAdopted has revisions of Helm with descriptions that are so long that few of them fit into the index of a release.
func TestFullIndexIsPrunedWhileItIsAdopted(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.ofHelm("web", "one")
	var revisions []helmRevision
	for number := range 6 {
		revisions = append(revisions, helmRevision{number + 1, "superseded", manifestOf("one"), nil})
	}
	revisions[5].status = "deployed"
	p.recordDescribed("web", strings.Repeat("x", 250_000), revisions...)
	p.expect(p.clm("adopt", "web", "--from-helm", "--history-max", "0"), 1, "it is full: it takes 1", "including 5 revisions; must be at most 1048576; to keep fewer revisions: --history-max")
	p.expect(p.clm("adopt", "web", "--from-helm", "--history-max", "3"), 0)
	p.expectHistoryNumbers("4 5 6")
	if marks := p.owner("one"); !strings.HasSuffix(marks, "web") {
		t.Errorf("want the object to be adopted, got %q", marks)
	}
}

// TestFullIndexIsPrunedInTime has references of sources that are so long that few revisions fit into the index of a release.
func TestFullIndexIsPrunedInTime(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	directory := p.TempDir()
	var sources []string
	for i := range 75 {
		name := fmt.Sprintf("%d.yaml", i)
		p.write(filepath.Join(directory, name), configMap(fmt.Sprintf("c%d", i), "1"))
		sources = append(sources, directory+strings.Repeat("/.", 1950)+"/"+name)
	}
	apply := func(revision int, args ...string) result {
		t.Helper()
		p.write(filepath.Join(directory, "0.yaml"), configMap("a", fmt.Sprint(revision)))
		return p.clm(slices.Concat([]string{"apply", "web"}, sources, args)...)
	}
	for revision := range 3 {
		p.expect(apply(revision+1), 0)
	}
	full := "it is full: it takes 1"
	p.expect(apply(4, "--history-max", "0"), 1, full, "including 4 revisions; must be at most 1048576; to keep fewer revisions: --history-max")
	p.expect(apply(4, "--history-max", "3"), 0)
	// There is room for the new one, and for no more.
	p.expectHistoryNumbers("2 3 4")
	p.expect(apply(5, "--history-max", "0"), 1, full)
	// Bytes of contents help as well, since the revisions that go are those with these contents.
	p.expect(apply(5, "--history-max", "0", "--history-max-bytes", "1"), 0)
	p.expectHistoryNumbers("5")
	if got := p.configMap("a"); got["value"] != "5" {
		t.Errorf("got %v", got)
	}
}

// TestFullIndexHasNoRoomForReasons has revisions with descriptions that are so long that no room is left for the reason why the last one has failed. That it has failed is recorded
// nevertheless, and of other reasons, the oldest ones go first.
func TestFullIndexHasNoRoomForReasons(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	apply := func(value, description string, args ...string) result {
		t.Helper()
		manifest := configMap("a", value)
		if value == "bad" {
			manifest += "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: " + strings.Repeat("B", 400) + "}}\n"
		}
		return p.clm(append([]string{"apply", "web", p.file("web.yaml", manifest), "--history-max", "0", "--description", description}, args...)...)
	}
	failures := func() string {
		var texts []string
		for _, revision := range p.items(p.must("history", "web", "-o", "json").stdout) {
			texts = append(texts, fmt.Sprint(p.text(revision, "status", "state"), " ", p.text(revision, "status", "failure") != ""))
		}
		return strings.Join(texts, ", ")
	}
	record := func() *corev1.Secret { return new(p.secrets()["clm.web"]) }
	p.expect(apply("1", "DESCRIPTION"), 0)
	p.expect(apply("bad", "second"), 1, "Invalid value")
	p.expect(apply("2", "third"), 0)
	before := len(record().Data["release"])
	p.expect(apply("bad", "fourth"), 1, "Invalid value")
	added := len(record().Data["release"]) - before // bytes of a failed revision, its reason and the message of the release
	p.expect(apply("3", "fifth"), 0)
	if got := failures(); got != "Superseded false, Failed true, Superseded false, Failed true, Ready false" {
		t.Fatalf("want the reasons of both failures, got %s", got)
	}
	full := record()
	room := added - 100
	padding := strings.Repeat("x", 1<<20-len(full.Data["release"])-room)
	full.Data["release"] = bytes.Replace(full.Data["release"], []byte("DESCRIPTION"), []byte("DESCRIPTION"+padding), 1)
	if err := p.client.Update(t.Context(), full); err != nil {
		t.Fatal(err)
	}
	p.expect(apply("bad", "sixth"), 1, "Invalid value")
	if got := failures(); got != "Superseded false, Failed false, Superseded false, Failed true, Superseded false, Failed true" {
		t.Errorf("want the oldest reason to be dropped, got %s", got)
	}
	// A further revision takes the place of reasons as well.
	p.expect(apply("4", "seventh"), 0)
	p.must("delete", "web")
}

// expectHistoryNumbers compares the numbers of all revisions, oldest first.
func (p *place) expectHistoryNumbers(want string) {
	p.Helper()
	if got := p.must("history", "web", "-o", "jsonpath={.items[*].status.number}").stdout; got != want {
		p.Errorf("want revisions %s, got %s", want, got)
	}
}
