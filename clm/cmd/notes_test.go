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
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// notedChart writes a chart with notes, and returns its folder.
func (p *place) notedChart(notes string) string {
	p.Helper()
	dir := p.TempDir()
	p.write(filepath.Join(dir, "Chart.yaml"), "{apiVersion: v2, name: noted, version: 1.0.0}")
	p.write(filepath.Join(dir, "templates", "all.yaml"), configMap("a", "{{ .Values.value }}"))
	p.write(filepath.Join(dir, "templates", "NOTES.txt"), notes)
	return dir
}

// TestNotes: what a chart has to say is shown when all is done, and kept with the revision.
func TestNotes(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	chart := p.notedChart("\n{{ .Release.Name }} in {{ .Release.Namespace }} has {{ .Values.value }}.\n  \x1b[31mRead this.\n\n")
	notes := func(value string) string {
		return "web in " + p.namespace + " has " + value + ".\n  \\x1b[31mRead this.\n"
	}
	apply := func(value string, args ...string) []string {
		return append([]string{"apply", "web", chart, "--set", "value=" + value}, args...)
	}
	for _, test := range []struct {
		reason string
		args   []string
		want   string
	}{
		{"a dry run does nothing", apply("one", "--dry-run=server"), ""},
		{"an installation", apply("one"), notes("one")},
		{"nothing was done", apply("one"), ""},
		{"a change", apply("two"), notes("two")},
		{"they can be left out", apply("three", "--hide-notes"), ""},
		{"they are kept nevertheless", []string{"get", "notes", "web"}, notes("three")},
		{"so are those of before", []string{"get", "notes", "web", "--revision", "1"}, notes("one")},
		{"a rollback says nothing", []string{"rollback", "web", "2"}, ""},
		{"its revision has those of the former one", []string{"get", "notes", "web"}, notes("two")},
	} {
		got := p.must(test.args...).stdout
		if strings.Contains(test.reason, "dry run") {
			if strings.Contains(got, "Read this") {
				t.Errorf("%s: got %s", test.reason, got)
			}
			continue
		}
		if got != test.want {
			t.Errorf("%s: clm %s: want %q, got %q", test.reason, strings.Join(test.args, " "), test.want, got)
		}
	}

	plan := filepath.Join(t.TempDir(), "plan")
	p.must("plan", "web", chart, "--set", "value=four", "--out", plan)
	if got := p.must("apply", "web", "--plan", plan).stdout; got != notes("four") {
		t.Errorf("want a saved plan to have the notes, got %q", got)
	}
	if got := p.must(apply("five", "-o", "json")...).stdout; strings.Contains(got, "Read this") {
		t.Errorf("want events only, got %s", got)
	}
	p.must("orphan", "web", "configmap/a", "--yes")
	if got := p.must("get", "notes", "web").stdout; got != notes("five") {
		t.Errorf("want a revision without an object to keep them, got %q", got)
	}
	p.must("delete", "web")

	failing := p.notedChart(`{{ fail "not like this" }}`)
	if got := p.clm("apply", "web", failing, "--set", "value=1"); got.code != 1 || !strings.Contains(got.stderr, "not like this") || p.configMap("a")["value"] != "five" {
		t.Errorf("want an error before anything is changed, got exit code %d\n%s", got.code, got.stderr)
	}
	p.must("apply", "plain", p.file("b.yaml", configMap("b", "1")))
	if got := p.must("get", "notes", "plain"); got.stdout != "" || got.stderr != "there are no notes\n" {
		t.Errorf("got %q and %q", got.stdout, got.stderr)
	}
	p.must("delete", "plain")
}

// TestNotesAlone has charts of the same version that differ by their notes, which are recorded without anything being applied: not even hooks run.
func TestNotesAlone(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	chart := p.notedChart("first, revision {{ .Release.Revision }}")
	notes := func(text string) { p.write(filepath.Join(chart, "templates", "NOTES.txt"), text) }
	p.write(filepath.Join(chart, "templates", "all.yaml"), configMap("a", "{{ .Release.Revision }}")+
		"---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: hook, annotations: {helm.sh/hook: 'pre-install,pre-upgrade'}}\n")
	p.must("apply", "web", chart)
	before := p.configMapVersions()
	notes("second")
	p.expect(p.clm("plan", "web", chart, "--exit-code"), 0)
	got := p.must("apply", "web", chart)
	if got.stdout != "second\n" || !strings.Contains(got.stderr, "the notes have changed, and are recorded as revision 2\n") {
		t.Errorf("want the new notes, and what was recorded, got %s%s", got.stdout, got.stderr)
	}
	for _, text := range []string{"third", "fourth"} {
		notes(text)
		p.change("a", "drift")
		if got := p.must("apply", "web", chart, "--history-max", "3").stdout; got != text+"\n" {
			t.Errorf("want the new notes, got %q", got)
		}
		if got := p.must("get", "notes", "web").stdout; got != text+"\n" {
			t.Errorf("want the notes of the last apply, got %q", got)
		}
	}
	if got := p.must("apply", "web", chart); got.stdout != "" || !strings.Contains(got.stderr, "revision 4, is up to date") {
		t.Errorf("want nothing to be done, got %s%s", got.stdout, got.stderr)
	}
	var history []string
	for _, revision := range p.items(p.must("history", "web", "-o", "json").stdout) {
		history = append(history, revision.GetName()+" "+p.text(revision, "status", "state")+" "+p.text(revision, "status", "description"))
	}
	// Revisions 2 and 3 have given way to the next ones of their kind.
	if diff := cmp.Diff([]string{"web.1 Superseded applied", "web.4 Ready notes changed"}, history); diff != "" {
		t.Errorf("history (-want +got):\n%s", diff)
	}
	after := p.configMapVersions()
	delete(before, "a")
	delete(after, "a")
	if diff := cmp.Diff(before, after); diff != "" || p.configMap("a")["value"] != "1" {
		t.Errorf("want no change but the correction of drift (-before +after):\n%s", diff)
	}

	saved := filepath.Join(t.TempDir(), "plan")
	notes("fifth")
	p.must("plan", "web", chart, "--out", saved)
	if got := p.must("apply", "web", "--plan", saved); got.stdout != "fifth\n" || !strings.Contains(got.stderr, "the notes have changed, and are recorded as revision 5\n") {
		t.Errorf("want the notes of the saved plan, got %s%s", got.stdout, got.stderr)
	}
	if got := p.must("get", "notes", "web").stdout; got != "fifth\n" {
		t.Errorf("want the notes of the saved plan to be recorded, got %q", got)
	}

	p.must("rollback", "web", "1")
	if got := p.must("get", "notes", "web").stdout; got != "first, revision 1\n" {
		t.Errorf("want the notes of revision 1, got %q", got)
	}
	p.must("delete", "web")
}

// TestRandomNamesOfHooks has a chart whose hooks get other names each time it is rendered, which is no change.
// Neither are other tests, but they are recorded, and the next test runs them.
func TestRandomNamesOfHooks(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	chart := p.notedChart("")
	templates := func(check, hook string) {
		p.write(filepath.Join(chart, "templates", "hooks.yaml"), fmt.Sprintf(`
apiVersion: v1
kind: ConfigMap
metadata: {name: 'check-{{ randAlphaNum 5 | lower }}', annotations: {helm.sh/hook: test}}
data: {value: %q}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: 'hook-{{ randAlphaNum 5 | lower }}', annotations: {helm.sh/hook: 'post-install,post-upgrade'}}
data: {value: %q}
`, check, hook))
	}
	apply := func(args ...string) []string { return append(args, "web", chart, "--set", "value=1") }
	hooks := func() string { return strings.Join(p.names("v1", "ConfigMap"), " ") }
	templates("one", "one")
	p.must(apply("apply")...)
	before := hooks()
	p.expect(p.clm(apply("plan", "--exit-code")...), 0, "nothing to do")
	p.expect(p.must(apply("apply")...), 0, "revision 1, is up to date")
	p.expectHistory("Ready")

	templates("two", "one")
	p.expect(p.clm(apply("plan", "--exit-code")...), 0, "nothing to do")
	p.expect(p.must(apply("apply")...), 0, "the tests have changed, and are recorded as revision 2")
	p.expect(p.must(apply("apply")...), 0, "revision 2, is up to date")
	p.expect(p.must("get", "manifest", "web"), 0, "value: two")
	if after := hooks(); after != before {
		t.Errorf("want no hook to run, got %s instead of %s", after, before)
	}
	p.expect(p.clm("rollback", "web"), exitRefused, "has no earlier revision that was ready and differs by more than the notes and tests of charts")
	templates("one", "one")
	saved := filepath.Join(t.TempDir(), "plan")
	p.must(apply("plan", "--out", saved)...)
	p.expect(p.must("apply", "web", "--plan", saved), 0, "the tests have changed, and are recorded as revision 3")
	p.expect(p.must("get", "manifest", "web"), 0, "value: one")

	templates("one", "two")
	p.expect(p.clm(apply("plan", "--exit-code")...), exitChanges)
	p.must(apply("apply")...)
	if after := hooks(); after == before {
		t.Errorf("want the other hook to run, got %s", after)
	}
	if got := p.must("history", "web", "-o", "jsonpath={.items[*].metadata.name}").stdout; got != "web.1 web.3 web.4" {
		t.Errorf("want one revision for the tests, and one for the hook, got %s", got)
	}
	p.must("delete", "web")
}

// configMapVersions returns the resource versions of the ConfigMaps of the place, by name.
func (p *place) configMapVersions() map[string]string {
	p.Helper()
	list := &corev1.ConfigMapList{}
	if err := p.client.List(p.Context(), list, client.InNamespace(p.namespace)); err != nil {
		p.Fatal(err)
	}
	versions := map[string]string{}
	for _, object := range list.Items {
		versions[object.Name] = object.ResourceVersion
	}
	return versions
}
